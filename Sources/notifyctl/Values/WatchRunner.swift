import NotifyClient

/// Prints values and their changes, for `subscribe --retained`.
struct WatchRunner: Sendable {
    let configuration: NotificationClient.Configuration
    let patterns: [String]
    let object: String?
    /// The number of values and changes after which the command ends; nil for no limit.
    let limit: Int?
    let timeout: Duration?
    let format: MessageFormat

    func run() async throws {
        let opening = AnswerEvent()
        try await Interruption.run(incomplete: limit == nil ? nil : .incomplete, timeout: timeout, after: opening) {
            interruption in
            try await withNotificationClient(configuration: configuration) { client in
                try await print(client.watch(patterns, object: object), until: interruption, opening)
            }
        }
    }

    private func print(
        _ watch: some AsyncSequence<NotificationClient.ValueEvent, NotifyError>, until interruption: Interruption,
        _ opening: AnswerEvent
    ) async throws {
        var output = StandardOutput()
        var printed = 0
        for try await event in watch {
            output.gather { append(event, to: &$0) }
            try await output.flush(until: interruption)
            switch event {
            case .value, .cleared: printed += 1
            case .damaged(let count): StandardError.write("\(count) values are damaged in the daemon's log")
            case .upToDate: opening.finish()
            case .reset: break
            }
            if let limit, printed >= limit { return }
        }
    }

    func append(_ event: NotificationClient.ValueEvent, to bytes: inout [UInt8]) {
        switch (event, format.content) {
        case (.value(let message), _): format.append(message, to: &bytes)
        // JSON has the header that says why, and a template can contain it.
        case (.cleared(let message), .json), (.cleared(let message), .template): format.append(message, to: &bytes)
        case (.cleared(let message), _):
            append("\(Table.printable(message.name)) \(message.clearedReason ?? "cleared")", to: &bytes)
        case (.upToDate, .json): append(#"{"up_to_date":true}"#, to: &bytes)
        case (.reset, .json): append(#"{"reset":true}"#, to: &bytes)
        case (.upToDate, _), (.reset, _), (.damaged, _): break
        }
    }

    private func append(_ line: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: line.utf8)
        bytes.append(format.terminator ?? UInt8(ascii: "\n"))
    }
}
