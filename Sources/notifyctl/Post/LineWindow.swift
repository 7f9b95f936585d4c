import Synchronization

/// Limits the number of lines without an outcome: the task that posts lines waits for the task that counts outcomes.
/// The latter closes the window at the first failure, before another line can be posted.
final class LineWindow: Sendable {
    private struct State {
        var limit: Int
        var lines = 0
        var isClosed = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let limit: Int
    private let state: Mutex<State>

    /// - Parameter limitUntilOutcome: The limit that applies until the first outcome; nil for `limit`.
    init(limit: Int, limitUntilOutcome: Int? = nil) {
        self.limit = limit
        state = Mutex(State(limit: limitUntilOutcome ?? limit))
    }

    /// Waits until the number of lines without an outcome is below the limit. Only one task may wait.
    ///
    /// - Returns: False once the window is closed, or in a cancelled task.
    func wait() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.isClosed || Task.isCancelled { return false }
                    if state.lines < state.limit { return true }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            close()
        }
    }

    func posted(_ lines: Int) {
        state.withLock { $0.lines += lines }
    }

    func received(_ outcomes: Int) {
        let waiter = state.withLock { state in
            state.lines -= outcomes
            state.limit = limit
            return state.lines < limit ? state.waiter.take() : nil
        }
        waiter?.resume(returning: true)
    }

    /// Ends the current wait, and all later ones.
    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            return state.waiter.take()
        }
        waiter?.resume(returning: false)
    }
}
