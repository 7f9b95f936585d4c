@_spi(Package) import NotifyCenter

/// Reports the end of an announcement to the tasks that wait for it.
final class AnnouncementEnd: Sendable {
    private struct State {
        /// The error that has ended the announcement; the outer optional is nil until it has ended.
        var outcome: NotifyError??
        var waiters: [ReplySlot<NotifyError?>] = []
    }

    private let state = Lock(State())

    /// Records the end. Later ends have no effect.
    ///
    /// - Parameter error: The reason; nil if the program has ended the announcement.
    func end(_ error: NotifyError?) {
        let waiters = state.withLock { state in
            guard state.outcome == nil else { return [ReplySlot<NotifyError?>]() }
            state.outcome = .some(error)
            return exchange(&state.waiters, with: [])
        }
        for waiter in waiters { waiter.answer(.success(error)) }
    }

    /// Waits for the end.
    ///
    /// - Returns: The reason; nil if the program has ended the announcement, or the task is cancelled.
    nonisolated(nonsending) func wait() async -> NotifyError? {
        let slot = ReplySlot<NotifyError?>()
        state.withLock { state in
            if let outcome = state.outcome { slot.answer(.success(outcome)) } else { state.waiters.append(slot) }
        }
        let error = try? await slot.wait { slot.fail(.cancelled) }
        state.withLock { state in state.waiters.removeAll { $0 === slot } }
        return error ?? nil
    }
}
