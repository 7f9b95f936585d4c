import Synchronization

/// The first event that ends a command from outside: SIGINT or SIGTERM, the end of its time, or the loss of its reader.
final class Interruption: Sendable {
    enum Reason: Sendable {
        case signal
        case timeout
        case readerGone
    }

    private struct State {
        var reason: Reason?
        var waiter: CheckedContinuation<Reason?, Never>?
        var isCancelled = false
    }

    private let pipe = WakeupPipe()
    private let state = Mutex(State())

    /// Readable once the interruption has come.
    var descriptor: Int32 { pipe.descriptor }

    /// Why it came; nil before it has.
    var reason: Reason? { state.withLock(\.reason) }

    /// Interrupts the command. The first reason counts.
    func interrupt(_ reason: Reason) {
        let waiter = state.withLock { state in
            state.reason = state.reason ?? reason
            return state.waiter.take()
        }
        pipe.raise()
        waiter?.resume(returning: reason)
    }

    /// Waits for the interruption; nil in a task that is cancelled. One task may wait.
    func wait() async -> Reason? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isOver, reason) = state.withLock { state -> (Bool, Reason?) in
                    if state.reason != nil || state.isCancelled { return (true, state.reason) }
                    state.waiter = continuation
                    return (false, nil)
                }
                if isOver { continuation.resume(returning: reason) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.isCancelled = true
                return state.waiter.take()
            }
            waiter?.resume(returning: nil)
        }
    }
}
