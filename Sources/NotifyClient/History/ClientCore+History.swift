import NotifyWire

/// Requests that read the log. They change nothing, so they are repeated on the next connection if one is lost.
extension ClientCore {
    nonisolated(nonsending) func find(
        _ position: LogPosition, timeout: Duration? = nil, endsOnShutdown: Bool = false
    ) async throws(NotifyError) -> Found {
        try await retrying(timeout: timeout, endsOnShutdown: endsOnShutdown) { .find(position, $0) }
    }

    nonisolated(nonsending) func page(_ request: ReadLog) async throws(NotifyError) -> ReceivedLogPage {
        try await retrying(endsOnShutdown: request.isWaiting) { .log(request, $0, page: nil) }
    }

    /// - Parameters:
    ///   - timeout: The time limit of all attempts together; nil for that of the client, for each of them.
    ///   - endsOnShutdown: As for `answer`.
    nonisolated(nonsending) func retrying<Answer>(
        timeout: Duration? = nil, endsOnShutdown: Bool = false, _ call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        let end = timeout.map { clock.now + $0 }
        while true {
            do throws(NotifyError) {
                let left = end.map { max(.zero, $0 - clock.now) }
                return try await answer(timeout: left, endsOnShutdown: endsOnShutdown, to: call)
            } catch {
                guard error.code == .connectionLost, !Task.isCancelled else { throw error }
            }
        }
    }

    /// Makes a call and waits for its answer. The cancellation of the task cancels the call. A graceful shutdown of its
    /// service ends the wait for a connection.
    ///
    /// - Parameter endsOnShutdown: Whether the shutdown cancels the call also on a connection: that of a call that waits
    ///   for messages, or whose answer is not needed after the shutdown.
    nonisolated(nonsending) func answer<Answer>(
        timeout: Duration? = nil, endsOnShutdown: Bool = false, to call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        let slot = ReplySlot<Answer>(timeout: timeout)
        self.call(call(slot))
        return try await slot.wait {
            self.cancelCall(slot)
        } onGracefulShutdown: {
            if endsOnShutdown { self.cancelCall(slot) } else { self.endWait(slot) }
        }
    }
}
