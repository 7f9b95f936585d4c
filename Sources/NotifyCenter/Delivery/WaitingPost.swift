import Synchronization

/// A post that waits for room in mailboxes.
final class WaitingPost: Sendable {
    private struct State {
        /// The number of mailboxes that the post waits for.
        var outstanding = 0
        var queues: [any PostWaiter] = []
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())
    /// The mailbox of the observer that posts from within its closure; nil if the poster is not an observer with a
    /// mailbox. A serial observer takes nothing from its mailbox while the post waits.
    private let poster = ObserverMailbox.current

    /// Makes the post wait for room in a queue, unless this could deadlock because the observer of the queue waits for
    /// the posting observer. Called under the lock of the queue.
    ///
    /// - Returns: Whether the post waits.
    func mayWait(in queue: any PostWaiter) -> Bool {
        if let poster, !WaitGraph.shared.add(from: poster, to: queue) { return false }
        state.withLock { state in
            state.outstanding += 1
            state.queues.append(queue)
        }
        return true
    }

    /// Ends the wait for a queue that has room, was closed, or has dropped the element. Called once for each
    /// ``mayWait(in:)`` that returned true.
    func finished(in queue: any PostWaiter) {
        if let poster { WaitGraph.shared.remove(from: poster, to: queue) }
        let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.outstanding -= 1
            return state.outstanding == 0 ? state.continuation.take() : nil
        }
        continuation?.resume()
    }

    /// Waits for room in all queues. If the task is cancelled, drops the elements without room and returns soon.
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
