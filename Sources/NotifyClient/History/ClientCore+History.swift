import NotifyWire

/// Requests that read the log. They change nothing, so they are repeated on the next connection if one is lost.
extension ClientCore {
    nonisolated(nonsending) func find(
        _ position: LogPosition, timeout: Duration? = nil
    ) async throws(NotifyError) -> Found {
        try await retrying(timeout: timeout) { .find(position, $0) }
    }

    nonisolated(nonsending) func page(_ request: ReadLog) async throws(NotifyError) -> ReceivedLogPage {
        try await retrying { .log(request, $0, page: nil) }
    }

    /// - Parameter timeout: The time limit of all attempts together; nil for that of the client, for each of them.
    nonisolated(nonsending) func retrying<Answer>(
        timeout: Duration? = nil, _ call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        let end = timeout.map { clock.now + $0 }
        while true {
            do throws(NotifyError) {
                return try await answer(timeout: end.map { max(.zero, $0 - clock.now) }, to: call)
            } catch {
                guard error.code == .connectionLost, !Task.isCancelled else { throw error }
            }
        }
    }

    /// Makes a call and waits for its answer. The cancellation of the task, or the graceful shutdown of its service,
    /// cancels the call.
    nonisolated(nonsending) func answer<Answer>(
        timeout: Duration? = nil, to call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        let slot = ReplySlot<Answer>(timeout: timeout)
        self.call(call(slot))
        return try await slot.wait {
            self.cancelCall(slot)
        } onGracefulShutdown: {
            self.cancelCall(slot)
        }
    }
}
