import Glibc
import UnixSignals

/// The sources of an interruption. Each runs as a task of its own until it is cancelled.
extension Interruption {
    /// Interrupts at the first SIGINT or SIGTERM. A second one ends the process as if it were not handled.
    func watchSignals(_ signals: UnixSignalsSequence) async {
        var isSecond = false
        for await signal in signals {
            if isSecond { Self.end(by: signal) }
            isSecond = true
            interrupt(.signal)
        }
    }

    /// Interrupts at the end of the time, or once `precondition` has come if that is later.
    func watchTime(until deadline: ContinuousClock.Instant, after precondition: () async -> Void = {}) async {
        guard (try? await Task.sleep(until: deadline)) != nil else { return }
        await precondition()
        if !Task.isCancelled { interrupt(.timeout) }
    }

    /// Interrupts when the reader of a pipe or socket is gone, also while nothing is written.
    func watchReader(of output: Int32) async {
        let cancellation = WakeupPipe()
        let events = await withTaskCancellationHandler {
            try? await Blocking.run {
                // Asked for no events, poll still reports that the reader is gone.
                Blocking.poll([(output, 0), (cancellation.descriptor, POLLIN)], isWaiting: true)
            }
        } onCancel: {
            cancellation.raise()
        }
        // A descriptor that is closed is found by the first write.
        if let events, events[0] & (POLLERR | POLLHUP) != 0 { interrupt(.readerGone) }
    }

    /// SIGINT and SIGTERM, trapped from here on.
    ///
    /// A shell without job control has its background commands ignore SIGINT; that is kept.
    static func trapSignals() async -> UnixSignalsSequence {
        var earlier = sigaction()
        let isIgnored =
            sigaction(SIGINT, nil, &earlier) == 0
            && unsafeBitCast(earlier.__sigaction_handler.sa_handler, to: Int.self)
                == unsafeBitCast(SIG_IGN, to: Int.self)
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
