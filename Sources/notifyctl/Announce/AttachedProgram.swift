import Glibc
import NIOPosix
import SystemPackage

/// A command that runs in place of notifyctl: it has the standard streams and the process group of notifyctl, and gets
/// the signals that notifyctl gets.
struct AttachedProgram: Sendable {
    /// The signals to pass on.
    static let signals = [SIGTERM, SIGINT, SIGHUP]

    /// Its thread starts the command and never ends: the command gets SIGTERM when the thread that started it ends.
    private static let thread = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    private let command: [String]
    private let path: String

    /// Finds the command: a path, or the name of a program in a folder of PATH.
    ///
    /// - Parameter command: The command and its arguments; not empty.
    /// - Throws: `CommandFailure` if there is no such program, or if its file is not executable.
    init(_ command: [String]) throws(CommandFailure) {
        self.command = command
        do {
            path = try ProgramFile.find(command[0])
        } catch {
            throw BoundProgram.failure(command[0], error)
        }
    }

    /// Runs the command to its end. Signals that arrive meanwhile are passed on, save a SIGINT of the terminal (Ctrl-C),
    /// which the command gets itself.
    ///
    /// - Parameter signals: Receives ``signals``.
    /// - Returns: The exit status, as a shell reports it.
    func run(passingOn signals: SignalPipe) async -> Int32 {
        let process: ProgramProcess
        do {
            process = try await Self.thread.runIfActive { [path, command] in try BoundProgram.start(path, command) }
        } catch {
            let failure = BoundProgram.failure(command[0], error as? Errno ?? .canceled)
            if let message = failure.message { StandardError.write(message) }
            return failure.status.rawValue
        }
        let ended = WakeUpPipe()
        Self.thread.submit { _ in Self.passOn(signals, to: process, until: ended) }
        defer { ended.wakeUp() }
        switch await process.waitForEnd() {
        case .exited(let status): return status
        case .signaled(let signal): return ExitStatus.signalBase + signal
        case .unknown:
            StandardError.write("the exit status of the command '\(command[0])' is unknown")
            return ExitStatus.failure.rawValue
        }
    }

    /// Passes signals on until the process has ended.
    private static func passOn(_ signals: SignalPipe, to process: ProgramProcess, until ended: WakeUpPipe) {
        while true {
            let events = Blocking.poll([(signals.descriptor, POLLIN), (ended.descriptor, POLLIN)], isWaiting: true)
            if events[1] != 0 { return }
            for arrival in signals.arrived() where arrival.signal != SIGINT || !arrival.isFromKernel {
                process.send(arrival.signal)
            }
        }
    }
}
