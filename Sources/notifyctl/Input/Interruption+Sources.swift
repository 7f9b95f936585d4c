import Glibc
import UnixSignals

/// The sources of an interruption. Each `watch` method runs in a task of its own; cancelling the task ends it.
extension Interruption {
    /// Interrupts at the first SIGINT or SIGTERM. A second signal ends the process by its default action.
    func watchSignals(_ signals: UnixSignalsSequence) async {
        var isSecond = false
        for await signal in signals {
            if isSecond { Self.end(by: signal) }
            isSecond = true
            interrupt(.signal)
        }
    }

    /// Waits until the deadline, then until `precondition` returns, then interrupts.
    func watchTime(until deadline: ContinuousClock.Instant, after precondition: () async -> Void = {}) async {
        guard (try? await Task.sleep(until: deadline)) != nil else { return }
        await precondition()
        if !Task.isCancelled { interrupt(.timeout) }
    }

    /// Interrupts when the reader of the output, a pipe or socket, has closed it, even while nothing is written.
    func watchReader(of output: Int32) async {
        let cancellation = WakeUpPipe()
        let events = await withTaskCancellationHandler {
            try? await Blocking.run {
                // With no events requested, poll still reports errors and hang-ups.
                Blocking.poll([(output, 0), (cancellation.descriptor, POLLIN)], isWaiting: true)
            }
        } onCancel: {
            cancellation.wakeUp()
        }
        // If the descriptor itself is closed, the first write reports that.
        if let events, events[0] & (POLLERR | POLLHUP) != 0 { interrupt(.readerClosed) }
    }

    /// Traps SIGINT and SIGTERM from now on.
    ///
    /// A shell without job control starts background commands with SIGINT ignored. In that case, SIGINT stays ignored.
    static func trapSignals() async -> UnixSignalsSequence {
        var earlier = sigaction()
        let isIgnored = sigaction(SIGINT, nil, &earlier) == 0 && earlier.isIgnoring
        return await UnixSignalsSequence(trapping: isIgnored ? [.sigterm] : [.sigint, .sigterm])
    }

    private static func end(by signal: UnixSignal) {
        Glibc.signal(signal.rawValue, SIG_DFL)
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, signal.rawValue)
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        raise(signal.rawValue)
    }
}
