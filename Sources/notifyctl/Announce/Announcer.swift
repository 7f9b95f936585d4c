import NotifyClient

/// Announces a value, and keeps it.
struct Announcer: Sendable {
    let name: String
    let payload: [UInt8]
    var object: String?
    var headers = NotificationClient.Headers()
    /// The content of the message that is posted if the client ends without withdrawing the value.
    var will: [UInt8]?
    var grace = Duration.zero
    var takesOver = false

    private func announce(with client: NotificationClient) async throws -> AnnouncedValue {
        let announcement = try await client.announce(
            name, payload, object: object, headers: headers, will: will.map { NotificationClient.Will($0) },
            grace: grace, takesOver: takesOver)
        return AnnouncedValue(name: name) {
            await announcement.failure()
        } withdraw: {
            try await announcement.withdraw(headers: $0, timeout: $1)
        }
    }

    /// Announces the value, and then runs a command. The value is withdrawn when the command has ended.
    ///
    /// - Returns: The exit status of the command.
    /// - Throws: The error of the announcement. The command is not started then.
    func run(_ program: AttachedProgram, _ configuration: NotificationClient.Configuration) async throws -> Int32 {
        try await withNotificationClient(configuration: reporting(configuration)) { client in
            let value = try await announce(with: client)
            // Until here, signals end notifyctl. From here on, they end the command.
            let signals = SignalPipe(AttachedProgram.signals)
            return await value.keep(report: StandardError.write) { await program.run(passingOn: signals) }
        }
    }

    /// Announces the value until a signal, and reports on standard output that it is announced.
    ///
    /// - Throws: The error of the announcement, also if the value is lost later.
    func runUntilSignal(_ configuration: NotificationClient.Configuration, isQuiet: Bool) async throws {
        let signals = await Interruption.trapSignals(includingHangup: true)
        let interruption = Interruption()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask {
                await interruption.endUnanswered { _ in
                    CommandFailure(.failure, "notifyd does not answer, so the withdrawal is not confirmed")
                }
            }
            defer { group.cancelAll() }
            try await withNotificationClient(configuration: reporting(configuration)) { client in
                let value = try await announce(with: client)
                if !isQuiet {
                    var output = StandardOutput()
                    output.append("announced \(name)\n")
                    try output.flush()
                }
                try await value.keep(until: interruption)
            }
        }
    }

    private func reporting(_ configuration: NotificationClient.Configuration) -> NotificationClient.Configuration {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        configuration.closingTimeout = AnswerTimeout.current
        return configuration
    }
}
