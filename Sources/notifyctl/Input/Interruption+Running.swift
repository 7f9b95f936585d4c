import Glibc

extension Interruption {
    /// Runs `body` in a task. Cancels the task if the command receives a signal, or if the reader of standard output
    /// closes it.
    ///
    /// - Throws: Errors of `body`, unless the command was interrupted.
    static func run(_ body: @escaping @Sendable (Interruption) async throws -> Void) async throws {
        let signals = await trapSignals()
        let interruption = Interruption()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.watchReader(of: STDOUT_FILENO) }
            defer { group.cancelAll() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await body(interruption) }
                group.addTask { _ = await interruption.wait() }
                do {
                    // Once one of the tasks ends, the other one must end, too.
                    try await group.next()
                    group.cancelAll()
                    try await group.waitForAll()
                } catch  where interruption.reason != nil {
                }
            }
        }
    }
}
