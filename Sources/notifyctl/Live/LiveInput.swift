import Glibc
import Synchronization

/// The input of a live view on a terminal: keys, and signals.
final class LiveInput: Sendable {
    enum Event: Equatable, Sendable {
        case keys([Key])
        /// The size of the terminal has changed, or the process continues after a stop.
        case redraw
        /// The process must be suspended, for example because of Ctrl-Z.
        case stop
        /// The command must end, because of a signal or because the terminal was closed.
        case end

        /// The event for the received signals; nil if there are none.
        init?(signals: [Int32]) {
            if signals.isEmpty { return nil }
            if signals.contains(where: [SIGINT, SIGTERM, SIGHUP, SIGQUIT].contains) {
                self = .end
            } else {
                // As in the kernel, SIGCONT cancels an earlier SIGTSTP.
                self = signals.last { [SIGTSTP, SIGCONT].contains($0) } == SIGTSTP ? .stop : .redraw
            }
        }
    }

    private let descriptor: Int32
    private let sequenceMilliseconds: Int32
    private let signals = SignalPipe([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH])
    private let cancellation = WakeUpPipe()
    private let decoder = Mutex(KeyDecoder())

    /// - Parameter sequenceMilliseconds: The time that an escape byte waits for the rest of a sequence, before it
    ///   counts as the Escape key.
    init(descriptor: Int32 = STDIN_FILENO, sequenceMilliseconds: Int32 = 100) {
        self.descriptor = descriptor
        self.sequenceMilliseconds = sequenceMilliseconds
    }

    /// Waits for the next event. Only one task at a time may wait.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    func next() async throws -> Event {
        try await withTaskCancellationHandler {
            try await Blocking.run { try self.read() }
        } onCancel: {
            cancellation.wakeUp()
        }
    }

    /// Ends the input, and restores the earlier actions of the signals.
    func end() {
        signals.end()
    }

    /// Stops the process. Returns when it continues.
    func stopProcess() {
        signals.raiseDefault(SIGTSTP)
    }

    private func read() throws -> Event {
        while true {
            let isWaiting = decoder.withLock(\.isWaiting)
            let events = Blocking.poll(
                [(cancellation.descriptor, POLLIN), (signals.descriptor, POLLIN), (descriptor, POLLIN)],
                isWaiting: true, limitMilliseconds: isWaiting ? sequenceMilliseconds : nil)
            if events[0] != 0 { throw CancellationError() }
            if events[1] != 0, let event = Event(signals: signals.received()) {
                // A second signal ends the process even if the terminal does not accept the last output.
                if event == .end { signals.restoreActions() }
                return event
            }
            let keys: [Key]
            if events[2] != 0 {
                var bytes = [UInt8](repeating: 0, count: 1024)
                let count = Glibc.read(descriptor, &bytes, bytes.count)
                guard count > 0 else { return .end }
                keys = decoder.withLock { $0.decode(Array(bytes[..<count])) }
            } else if events == [0, 0, 0] {
                keys = decoder.withLock { $0.finish() }
            } else {
                continue
            }
            if !keys.isEmpty { return .keys(keys) }
        }
    }
}
