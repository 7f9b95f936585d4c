import NotifyClient

/// A value that the daemon keeps as long as this client is connected.
struct AnnouncedValue: Sendable {
    /// The header of the withdrawal with the exit status of the command.
    static let statusHeader = "exit-status"

    let name: String
    /// Waits until the value is lost for good, and returns the reason; nil in a cancelled task.
    let failure: @Sendable () async -> NotifyError?
    /// Clears the value, within a time limit.
    let withdraw: @Sendable (NotificationClient.Headers, Duration) async throws -> Void

    /// Keeps the value while a command runs, and then withdraws it with the exit status of the command. If the value is
    /// lost, reports it and lets the command run on.
    ///
    /// - Parameters:
    ///   - report: Called with the problems.
    ///   - program: Runs the command, and returns its exit status.
    /// - Returns: The exit status of the command.
    func keep(report: @escaping @Sendable (String) -> Void, while program: () async -> Int32) async -> Int32 {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                guard let error = await failure() else { return false }
                report("'\(name)' is no longer announced: \(error.message); the command runs on")
                return true
            }
            let status = await program()
            group.cancelAll()
            let isLost = await group.next() ?? false
            guard !isLost else { return status }
            do {
                try await withdraw([Self.statusHeader: "\(status)"], AnswerTimeout.current)
            } catch {
                let reason = (error as? NotifyError)?.message ?? "\(error)"
                report("it is not confirmed that '\(name)' was withdrawn: \(reason)")
            }
            return status
        }
    }

    /// Keeps the value until an interruption, and then withdraws it.
    ///
    /// - Throws: `NotifyError` if the value is lost, or the withdrawal is not confirmed.
    func keep(until interruption: Interruption) async throws {
        let error = await withTaskGroup(of: NotifyError?.self) { group in
            group.addTask { await failure() }
            group.addTask {
                _ = await interruption.wait()
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let error { throw error }
        try await withdraw([:], AnswerTimeout.current)
    }
}
