import NotifyWire

extension NotificationClient {
    /// Checks that the daemon responds.
    ///
    /// - Parameter timeout: The time limit, which includes the wait for a connection; `nil` for
    ///   ``Configuration/requestTimeout`` once there is a connection.
    /// - Returns: The time until the answer. Without a connection, this includes the wait for one.
    /// - Throws: ``NotifyError``.
    @discardableResult
    public nonisolated(nonsending) func ping(timeout: Duration? = nil) async throws(NotifyError) -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        try await ask(timeout: timeout) { (slot: ReplySlot<Void>) in .ping(slot) }
        return clock.now - start
    }

    nonisolated(nonsending) func list(
        _ query: ListQuery, timeout: Duration? = nil
    ) async throws(NotifyError) -> [ListedEntry] {
        try await ask(timeout: timeout) { .list(query, $0, entries: []) }
    }

    nonisolated(nonsending) func ask<Answer>(
        timeout: Duration? = nil, _ call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        let request = core.instruments?.begin()
        let slot = ReplySlot<Answer>(timeout: timeout)
        core.call(call(slot))
        do throws(NotifyError) {
            let answer = try await slot.wait { [core] in
                core.cancelCall(slot)
            } onGracefulShutdown: { [core] in
                core.endWait(slot)
            }
            request?.end()
            return answer
        } catch {
            request?.end(error)
            throw error
        }
    }
}
