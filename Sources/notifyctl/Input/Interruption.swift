import Synchronization

/// The first event that ends a command: a signal, the timeout of the command, the closing of standard output by its
/// reader, or a failure after which the command starts nothing more.
final class Interruption: Sendable {
    enum Reason: Sendable {
        case signal
        case timeout
        case readerClosed
        case failure
    }

    private struct State {
        var reason: Reason?
        var isOutputComplete = false
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Reason?, Never>] = [:]
    }

    private let pipe = WakeUpPipe()
    private let state = Mutex(State())

    /// A descriptor that becomes readable when the command is interrupted, and remains so.
    var descriptor: Int32 { pipe.descriptor }

    /// The reason for the interruption; nil if the command was not interrupted yet.
    var reason: Reason? { state.withLock(\.reason) }

    /// Whether everything was printed.
    var isOutputComplete: Bool { state.withLock(\.isOutputComplete) }

    /// Whether a signal has ended the command before everything was printed.
    var isSignalledEarly: Bool { state.withLock { $0.reason == .signal && !$0.isOutputComplete } }

    /// Records that everything was printed. From then on it does not matter whether the output can be written.
    func completeOutput() {
        state.withLock { $0.isOutputComplete = true }
    }

    /// Throws if the reader of the output has closed it before everything was printed.
    func checkReader() throws(StandardOutput.Failure) {
        if reason == .readerClosed { throw .readerClosed }
    }

    /// Interrupts the command. Only the first reason is kept. `readerClosed` is ignored if the output is complete.
    func interrupt(_ reason: Reason) {
        let (first, waiters) = state.withLock { state in
            if reason == .readerClosed, state.isOutputComplete {
                return (nil as Reason?, [] as [CheckedContinuation<Reason?, Never>])
            }
            let first = state.reason ?? reason
            state.reason = first
            defer { state.waiters = [:] }
            return (first, Array(state.waiters.values))
        }
        guard let first else { return }
        pipe.wakeUp()
        for waiter in waiters { waiter.resume(returning: first) }
    }

    /// Waits for the interruption.
    ///
    /// - Returns: The reason; nil in a cancelled task.
    func wait() async -> Reason? {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isOver, reason) = state.withLock { state -> (Bool, Reason?) in
                    if state.reason != nil || Task.isCancelled { return (true, state.reason) }
                    state.waiters[number] = continuation
                    return (false, nil)
                }
                if isOver { continuation.resume(returning: reason) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: nil)
        }
    }

    /// Waits for the interruption, for at most `limit`.
    ///
    /// - Returns: The reason; nil if the command was not interrupted in this time, or in a cancelled task.
    func wait(atMost limit: Duration, clock: any Clock<Duration> = ContinuousClock()) async -> Reason? {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await self.wait() }
            group.addTask { try? await clock.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return reason
    }
}
