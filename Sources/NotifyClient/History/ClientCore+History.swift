import NotifyWire

/// Requests that read the log. They change nothing, so they are repeated on the next connection if one is lost.
extension ClientCore {
    nonisolated(nonsending) func find(
        _ position: LogPosition, until deadline: RequestDeadline, endsOnShutdown: Bool = false
    ) async throws(NotifyError) -> Found {
        try await retrying(until: deadline, endsOnShutdown: endsOnShutdown) { .find(position, $0) }
    }

    /// - Parameter timeout: The time limit; nil for the client's. A request that waits for messages has no limit.
    nonisolated(nonsending) func page(
        _ request: ReadLog, timeout: Duration?
    ) async throws(NotifyError) -> ReceivedLogPage {
        try await retrying(
            until: deadline(after: request.isWaiting ? nil : timeout), endsOnShutdown: request.isWaiting
        ) { .log(request, $0, page: nil) }
    }

    func deadline(after timeout: Duration?) -> RequestDeadline { RequestDeadline(after: timeout, clock) }

    /// - Parameters:
    ///   - deadline: The deadline of all attempts together.
    ///   - endsOnShutdown: As for `answer`.
    nonisolated(nonsending) func retrying<Answer>(
        until deadline: RequestDeadline, endsOnShutdown: Bool = false, _ call: (ReplySlot<Answer>) -> Call
    ) async throws(NotifyError) -> Answer {
        while true {
            do throws(NotifyError) {
                return try await answer(timeout: deadline.left, endsOnShutdown: endsOnShutdown, to: call)
            } catch {
                guard error.code == .connectionLost, !Task.isCancelled else { throw error }
            }
        }
    }

    /// Makes a call and waits for its answer. The cancellation of the task cancels the call. A graceful shutdown of its
    /// service ends the wait for a connection.
    ///
    /// - Parameter endsOnShutdown: Whether the shutdown also cancels a call that has been sent: a call that waits for
    ///   messages, or whose answer is not needed after the shutdown.
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
