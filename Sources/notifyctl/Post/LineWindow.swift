import Synchronization

/// Lets the task that posts lines wait while too many of them have no outcome. The task that counts the outcomes closes
/// the window at the first failure, before anything more can be posted.
final class LineWindow: Sendable {
    private struct State {
        var limit: Int
        var lines = 0
        var isClosed = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let limit: Int
    private let state: Mutex<State>

    /// - Parameter limitUntilOutcome: The limit until the first outcome; nil for the same limit.
    init(limit: Int, limitUntilOutcome: Int? = nil) {
        self.limit = limit
        state = Mutex(State(limit: limitUntilOutcome ?? limit))
    }

    /// Waits until fewer lines than the limit are without an outcome. Only one task may wait.
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

    /// Ends the wait, now and later.
    func close() {
        let waiter = state.withLock { state in
            state.isClosed = true
            return state.waiter.take()
        }
        waiter?.resume(returning: false)
    }
}
