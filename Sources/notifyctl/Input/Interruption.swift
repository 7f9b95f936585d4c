import Glibc
import Synchronization

/// The first thing that ends a command from outside: SIGINT or SIGTERM, the end of its time, or its reader going away.
///
/// A thread of its own waits for all of them, so that they are seen while everything else waits.
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

    /// Readable once the interruption has come.
    var descriptor: Int32 { come.descriptor }

    private let come = Signal()
    private let state = Mutex(State())

    /// Begins to watch.
    ///
    /// - Parameters:
    ///   - output: What a reader may go away from.
    ///   - timeout: The time from now on, if it is bounded.
    init(output: Int32, timeout: Duration?) {
        TerminationSignals.catchOnce()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        BackgroundThread.start { self.watch(output, until: deadline) }
    }

    var reason: Reason? { state.withLock(\.reason) }

    /// Waits for the interruption; nil in a task that is cancelled.
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

    private func watch(_ output: Int32, until deadline: ContinuousClock.Instant?) {
        var descriptors = [
            pollfd(fd: TerminationSignals.pipe.read, events: Int16(POLLIN), revents: 0),
            // Asked for nothing, poll still tells of the reader's end.
            pollfd(fd: output, events: 0, revents: 0),
        ]
        while true {
            let result = poll(&descriptors, nfds_t(descriptors.count), Self.milliseconds(until: deadline))
            if result < 0 { continue }
            if descriptors[0].revents != 0 { return finish(.signal) }
            if descriptors[1].revents & Int16(POLLERR | POLLHUP) != 0 { return finish(.readerGone) }
            // A closed descriptor is found out by the first write.
            if descriptors[1].revents != 0 { descriptors[1].fd = -1 }
            if let deadline, ContinuousClock.now >= deadline { return finish(.timeout) }
        }
    }

    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = ContinuousClock.now.duration(to: deadline).components
        guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
        guard left.seconds < 1_000_000 else { return 1_000_000_000 }
        // One more, so that it is not woken a moment before the time.
        return Int32(left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)
    }

    private func finish(_ reason: Reason) {
        let waiter = state.withLock { state in
            state.reason = reason
            return state.waiter.take()
        }
        come.raise()
        waiter?.resume(returning: reason)
    }
}

/// SIGINT and SIGTERM, made into something to read.
private enum TerminationSignals {
    static let pipe = Signal.makePipe()

    /// The first signal makes the pipe readable; a second one ends the process as if nobody had caught it.
    static func catchOnce() {
        // The handler must find it made.
        _ = pipe
        for number in [SIGINT, SIGTERM] {
            var earlier = sigaction()
            guard sigaction(number, nil, &earlier) == 0 else { continue }
            // A shell that starts something in the background has it ignore SIGINT.
            if number == SIGINT, isIgnored(earlier) { continue }
            var action = sigaction()
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
            action.__sigaction_handler.sa_handler = { _ in
                // Only what is allowed in a handler; whoever was interrupted keeps his errno.
                let code = errno
                Signal.raise(TerminationSignals.pipe.write)
                errno = code
            }
            sigaction(number, &action, nil)
        }
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
