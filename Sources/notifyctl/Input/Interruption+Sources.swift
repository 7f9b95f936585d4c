import Glibc
import UnixSignals

/// The sources of an interruption. Each `watch` method runs in a task of its own; cancelling the task ends it.
extension Interruption {
    /// The time to wait for a signal after the reader has closed the output: the same signal may have ended the reader.
    static let signalDelay = Duration.milliseconds(100)

    /// Interrupts at the first signal. A second signal ends the process by its default action.
    func watchSignals(_ signals: UnixSignalsSequence) async {
        var isSecond = false
        for await signal in signals {
            if isSecond { Self.end(by: signal) }
            isSecond = true
            interrupt(.signal)
        }
    }

    /// Waits for `timeout`, then calls `precondition`, and interrupts if it returns true.
    func watchTime(
        for timeout: Duration, clock: some Clock<Duration> = ContinuousClock(),
        if precondition: () async -> Bool = { true }
    ) async {
        guard (try? await clock.sleep(for: timeout)) != nil else { return }
        let isInterrupting = await precondition()
        if isInterrupting, !Task.isCancelled { interrupt(.timeout) }
    }

    /// Interrupts when the reader of the output, a pipe or socket, has closed it, even while nothing is written.
    func watchReader(of output: Int32, clock: some Clock<Duration> = ContinuousClock()) async {
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
        guard let events, events[0] & (POLLERR | POLLHUP) != 0 else { return }
        // Ctrl-C ends the reader, too. The reason is then the signal, although it may reach this process later.
        try? await clock.sleep(for: Self.signalDelay)
        if !Task.isCancelled { interrupt(.readerClosed) }
    }

    /// Whether the reader of the output, a pipe or socket, has closed it.
    static func isReaderGone(from output: Int32) -> Bool {
        Blocking.poll([(output, 0)], isWaiting: false)[0] & (POLLERR | POLLHUP) != 0
    }

    /// Traps SIGINT and SIGTERM from now on.
    ///
    /// A shell without job control starts background commands with SIGINT ignored, and nohup starts commands with
    /// SIGHUP ignored. Such a signal stays ignored.
    ///
    /// - Parameter includingHangup: Whether to trap SIGHUP, too. A command that runs other programs in process groups
    ///   of their own needs this, because a hang-up of the terminal does not reach these groups.
    static func trapSignals(includingHangup: Bool = false) async -> UnixSignalsSequence {
        let optional: [UnixSignal] = includingHangup ? [.sigint, .sighup] : [.sigint]
        return await UnixSignalsSequence(trapping: optional.filter { !isIgnored($0) } + [.sigterm])
    }

    private static func isIgnored(_ signal: UnixSignal) -> Bool {
        var earlier = sigaction()
        return sigaction(signal.rawValue, nil, &earlier) == 0 && earlier.isIgnoring
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
