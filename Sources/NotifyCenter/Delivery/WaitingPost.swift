import Synchronization

/// A post that waits until all mailboxes that had no room for it have some.
final class WaitingPost: Sendable {
    private struct State {
        /// How many mailboxes have no room yet.
        var outstanding = 0
        var queues: [any PostWaiter] = []
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())
    /// The observer that posts, if it is posted in a call of one: it takes nothing out of its mailbox meanwhile.
    private let poster = ObserverMailbox.current

    /// Whether the post may wait for room in the queue, which it then does. It may not if that would be for ever, because the
    /// queue's observer waits for the one that posts. Called under the queue's lock.
    func mayWait(in queue: any PostWaiter) -> Bool {
        if let poster, !WaitGraph.shared.add(from: poster, to: queue) { return false }
        state.withLock { state in
            state.outstanding += 1
            state.queues.append(queue)
        }
        return true
    }

    /// There was room in the queue, or there is no use in waiting for it any more. Called once for each ``mayWait(in:)``.
    func finished(in queue: any PostWaiter) {
        if let poster { WaitGraph.shared.remove(from: poster, to: queue) }
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.outstanding -= 1
            return state.outstanding == 0 ? state.continuation.take() : nil
        }
        continuation?.resume()
    }

    /// Waits. Returns soon if the task is cancelled: what is not in by then is dropped.
    nonisolated(nonsending) func wait() async {
        if state.withLock({ $0.outstanding == 0 }) { return }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.outstanding > 0 { state.continuation = continuation }
                    return state.outstanding == 0
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            for queue in state.withLock(\.queues) { queue.withdraw(self) }
        }
    }
}
