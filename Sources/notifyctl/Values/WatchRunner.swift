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
            case .upToDate: opening.finish()
            case .reset, .damaged: break
            }
            if let notice = notice(of: event) { StandardError.write(notice) }
            if let limit, printed >= limit { return }
        }
    }

    /// The line on standard error for an event; nil for none.
    func notice(of event: NotificationClient.ValueEvent) -> String? {
        switch (event, format.content) {
        // JSON has an object of its own for this.
        case (.reset, .json): nil
        case (.reset, _):
            "it is not known what has changed: all values follow again, and those that do not follow are gone"
        case (.damaged(1), _):
            "a value is damaged in the daemon's log: set it again; 'notifyctl check' says how to repair the log"
        case (.damaged(let count), _):
            "\(count) values are damaged in the daemon's log: set them again; 'notifyctl check' says how to repair the log"
        case (.value, _), (.cleared, _), (.upToDate, _): nil
        }
    }

    /// Appends what is printed for an event; nothing for some.
    func append(_ event: NotificationClient.ValueEvent, to bytes: inout [UInt8]) {
        switch (event, format.content) {
        case (.value(let message), _): format.append(message, to: &bytes)
        // JSON has the header that says why, and a template can contain it.
        case (.cleared(let message), .json), (.cleared(let message), .template): format.append(message, to: &bytes)
        case (.cleared(let message), _):
            // There is no payload that could say which of the values of a name it was.
            let words = [message.name, message.object, message.clearedReason ?? "cleared"].compactMap(\.self)
            append(Table.printable(words.joined(separator: " ")), to: &bytes)
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
