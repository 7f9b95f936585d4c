import CGNU
import Glibc
import Synchronization

/// Receives signals as bytes of a pipe, which can be polled together with other input. A process can have one
/// `SignalPipe` at a time. Signals that are ignored, as for a command in the background, remain ignored.
final class SignalPipe: Sendable {
    /// The end that the handler writes to; -1 without a pipe.
    private static let handlerDescriptor = Atomic<Int32>(-1)

    /// The end to poll.
    let descriptor: Int32
    private let writeEnd: Int32
    /// The signals that this pipe receives, with their earlier actions.
    private let earlier: [(signal: Int32, action: sigaction)]

    init(_ signals: [Int32]) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0, "can't create a pipe")
        (descriptor, writeEnd) = (ends[0], ends[1])
        let isFirst = Self.handlerDescriptor.exchange(writeEnd, ordering: .sequentiallyConsistent) < 0
        precondition(isFirst, "there is another SignalPipe")
        earlier = signals.compactMap { signal in
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0, !action.isIgnoring else { return nil }
            return (signal, action)
        }
        for (signal, _) in earlier { Self.handle(signal) }
    }

    deinit {
        end()
        close(descriptor)
        close(writeEnd)
    }

    /// Stops receiving signals. The process can then have another pipe, even if a thread still holds this one.
    func end() {
        guard Self.handlerDescriptor.load(ordering: .sequentiallyConsistent) == writeEnd else { return }
        restoreActions()
        _ = Self.handlerDescriptor.compareExchange(
            expected: writeEnd, desired: -1, ordering: .sequentiallyConsistent)
    }

    /// A signal that arrived.
    struct Arrival {
        /// The bit that marks a signal from the kernel in a byte of the pipe. Signals are numbered up to 64.
        fileprivate static let kernelBit: UInt8 = 0x80

        let signal: Int32
        /// Whether the kernel has sent the signal by itself, as for Ctrl-C. Otherwise a process has sent it.
        let isFromKernel: Bool
    }

    /// The signals that arrived since the last call.
    func arrived() -> [Arrival] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return bytes.prefix(max(0, count)).map { byte in
            Arrival(signal: Int32(byte & ~Arrival.kernelBit), isFromKernel: byte & Arrival.kernelBit != 0)
        }
    }

    /// The numbers of the signals that arrived since the last call.
    func received() -> [Int32] { arrived().map(\.signal) }

    /// Restores the actions that the signals had before.
    func restoreActions() {
        for (signal, action) in earlier {
            var action = action
            sigaction(signal, &action, nil)
        }
    }

    /// Restores the earlier action of a signal and sends the signal to this thread, for example to stop the process.
    /// When the process continues, handles the signal again and returns.
    func raiseDefault(_ signal: Int32) {
        guard var action = earlier.first(where: { $0.signal == signal })?.action else { return }
        sigaction(signal, &action, nil)
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, signal)
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        raise(signal)
        Self.handle(signal)
    }

    private static func handle(_ signal: Int32) {
        var action = sigaction()
        action.sa_flags = SA_RESTART | SA_SIGINFO
        // A signal handler can interrupt any code, so this handler only loads the descriptor and writes.
        action.__sigaction_handler.sa_sigaction = { signal, information, _ in
            let saved = errno
            // The codes of signals that processes send are not positive.
            let isFromKernel = information.map { $0.pointee.si_code > 0 } ?? false
            var byte = UInt8(truncatingIfNeeded: signal) | (isFromKernel ? Arrival.kernelBit : 0)
            _ = write(SignalPipe.handlerDescriptor.load(ordering: .relaxed), &byte, 1)
            errno = saved
        }
        sigaction(signal, &action, nil)
    }
}

extension sigaction {
    /// Whether the action is to ignore the signal.
    var isIgnoring: Bool {
        unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
