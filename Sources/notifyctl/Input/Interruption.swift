import Synchronization

/// The first external event that ends a command: a signal, the timeout of the command, or the closing of standard
/// output by its reader.
final class Interruption: Sendable {
    enum Reason: Sendable {
        case signal
        case timeout
        case readerClosed
    }

    private struct State {
        var reason: Reason?
        var waiter: CheckedContinuation<Reason?, Never>?
        var isCancelled = false
    }

    private let pipe = WakeUpPipe()
    private let state = Mutex(State())

    /// A descriptor that becomes readable when the command is interrupted, and remains so.
    var descriptor: Int32 { pipe.descriptor }

    /// The reason for the interruption; nil if there was none yet.
    var reason: Reason? { state.withLock(\.reason) }

    /// Interrupts the command. Only the first reason is kept.
    func interrupt(_ reason: Reason) {
        let waiter = state.withLock { state in
            state.reason = state.reason ?? reason
            return state.waiter.take()
        }
        pipe.wakeUp()
        waiter?.resume(returning: reason)
    }

    /// Waits for the interruption. Only one task may wait.
    ///
    /// - Returns: The reason; nil in a cancelled task.
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
