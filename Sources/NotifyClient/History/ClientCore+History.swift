import NotifyWire

/// Requests that read the log. They change nothing, so they are repeated on the next connection if one is lost.
extension ClientCore {
    nonisolated(nonsending) func find(_ position: LogPosition) async throws(NotifyError) -> Found {
        try await retrying { .find(position, $0) }
    }

    nonisolated(nonsending) func page(_ request: ReadLog) async throws(NotifyError) -> ReceivedLogPage {
        try await retrying { .log(request, $0, page: nil) }
    }

    nonisolated(nonsending) func retrying<Answer>(
        _ call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        while true {
            do throws(NotifyError) {
                return try await answer(to: call)
            } catch {
                guard error.code == .connectionLost, !Task.isCancelled else { throw error }
            }
        }
    }

    /// Makes a call and waits for its answer. The cancellation of the task, or the graceful shutdown of its service,
    /// cancels the call.
    nonisolated(nonsending) func answer<Answer>(
        to call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        let slot = ReplySlot<Answer>()
        self.call(call(slot))
        return try await slot.wait {
            self.cancelCall(slot)
        } onGracefulShutdown: {
            self.cancelCall(slot)
        }
    }
}
