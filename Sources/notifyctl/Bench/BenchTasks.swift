import NotifyClient

extension CommandFailure {
    /// A benchmark was interrupted.
    static let benchmarkInterrupted = CommandFailure(.failure, "interrupted")
}

extension Interruption {
    /// Runs `body` in a task that an interruption cancels. The calling task is not cancelled, so it can clean up.
    ///
    /// - Throws: The error of `body`, or `CommandFailure` after an interruption.
    func cancelling<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                _ = await self.wait()
                return nil
            }
            defer { group.cancelAll() }
            guard let result = try await group.next() ?? nil else { throw CommandFailure.benchmarkInterrupted }
            return result
        }
    }
}

/// Passes connected clients to `body`, each with a connection of its own.
func withClients<Result: Sendable>(
    _ count: Int, _ configuration: NotificationClient.Configuration,
    _ body: ([NotificationClient]) async throws -> Result
) async throws -> Result {
    guard count > 0 else { return try await body([]) }
    return try await withNotificationClient(configuration: configuration) { client in
        try await client.ping()
        return try await withClients(count - 1, configuration) { try await body([client] + $0) }
    }
}
