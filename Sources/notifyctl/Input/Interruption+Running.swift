import Glibc

extension Interruption {
    /// Runs `body` in a task. Cancels the task if the command receives a signal, or if the reader of standard output
    /// closes it.
    ///
    /// - Parameters:
    ///   - incomplete: The error if a signal ends the command before `body` has returned or has reported that the
    ///     output is complete; nil for success.
    ///   - timeout: The time after which the command ends with `timeout`; nil for no limit.
    ///   - opening: The event for which the timeout waits, but not longer than for an answer of the daemon.
    ///   - limit: The time that `body` may still run after an interruption, while the daemon does not answer.
    /// - Throws: Errors of `body`, unless the command was interrupted; `StandardOutput.Failure.readerClosed` if the
    ///   output was closed before it was complete.
    static func run(
        incomplete: CommandFailure? = nil, timeout: Duration? = nil, after opening: AnswerEvent? = nil,
        endingWithin limit: Duration = closingLimit,
        _ body: @escaping @Sendable (Interruption) async throws -> Void
    ) async throws {
        let signals = await trapSignals()
        let interruption = Interruption()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.watchReader(of: STDOUT_FILENO) }
            if let timeout {
                group.addTask {
                    await interruption.watchTime(for: timeout) {
                        await opening?.wait(atMost: SubscribeRunner.openingTimeout(timeout) - timeout)
                        return true
                    }
                }
            }
            group.addTask {
                await interruption.endUnanswered(after: { _ in limit }) { reason in
                    if reason == .readerClosed { return .readerClosed }
                    if reason == .timeout { return timedOut(timeout) }
                    let failure = interruption.isSignalledEarly ? incomplete : nil
                    return failure ?? CommandFailure(.success)
                }
            }
            defer { group.cancelAll() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await body(interruption)
                    if !Task.isCancelled { interruption.completeOutput() }
                }
                group.addTask { _ = await interruption.wait() }
                do {
                    // When one of the two tasks ends, the other task must end, too.
                    try await group.next()
                    group.cancelAll()
                    try await group.waitForAll()
                } catch  where interruption.reason != nil {
                }
            }
            try interruption.checkReader()
            if interruption.reason == .timeout { throw timedOut(timeout) }
            if let incomplete, interruption.isSignalledEarly { throw incomplete }
        }
    }

    private static func timedOut(_ timeout: Duration?) -> CommandFailure {
        CommandFailure(.timeout, SubscribeRunner.timeoutMessage(timeout ?? .zero))
    }
}
