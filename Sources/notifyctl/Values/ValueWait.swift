import NotifyClient

/// Waits for values, with a time limit.
enum ValueWait {
    /// Runs `body`, which is cancelled after the time limit.
    ///
    /// - Throws: Errors of `body`; `CommandFailure` with `timeout` after the time limit.
    static func run<Result: Sendable>(
        within limit: Duration?, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let limit else { return try await body() }
        return try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw CommandFailure(.timeout, SubscribeRunner.timeoutMessage(limit))
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}
