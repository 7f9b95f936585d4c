import CGNU
import Glibc
import NotifySystem
import Synchronization
import SystemPackage

/// A process in which this process runs another program.
final class ProgramProcess: Sendable {
    enum Termination: Equatable {
        case exited(Int32)
        case signaled(Int32)
        /// The process has ended, but was reaped elsewhere, so its exit status is lost.
        case unknown
    }

    private struct State {
        /// The exit status or signal; nil until the process was reaped. Until then no other process can have its id.
        var termination: Termination?
        var waiter: CheckedContinuation<Termination, Never>?
    }

    /// The pidfd, which `ExitWatcher` closes; -1 if the kernel has refused it.
    let descriptor: Int32
    private let identifier: pid_t
    /// Whether the process is the leader of a process group of its own.
    private let hasOwnGroup: Bool
    private let state = Mutex(State())

    init(_ identifier: pid_t, hasOwnGroup: Bool) {
        self.identifier = identifier
        self.hasOwnGroup = hasOwnGroup
        descriptor = notifyctl_pidfd_open(identifier)
    }

    /// Starts a program with the default handling of signals, and without other descriptors than the three standard
    /// ones. Blocks until the kernel has opened the program's file.
    ///
    /// - Parameters:
    ///   - path: The file of the program.
    ///   - arguments: The arguments with the name of the program, each with a final NUL.
    ///   - environment: The environment variables, each with a final NUL.
    ///   - input: Standard input for the program.
    ///   - output: Standard output for the program.
    ///   - error: Standard error for the program.
    ///   - hasOwnGroup: Whether the program gets a process group of its own. If so, Ctrl-C at the terminal does not
    ///     reach it. Otherwise it is in the process group of this process.
    ///   - keepsIgnoredSignals: Whether the program ignores the signals that this process ignores, save those that
    ///     notifyctl itself has set.
    ///   - watcher: Reaps the process when it has ended.
    /// - Throws: The reason why the program could not be started.
    static func start(
        _ path: String, arguments: [UInt8], environment: [UInt8], input: FileDescriptor, output: FileDescriptor,
        error: FileDescriptor, hasOwnGroup: Bool = true, keepsIgnoredSignals: Bool = false,
        watcher: ExitWatcher = .shared
    ) throws(Errno) -> ProgramProcess {
        var actions = posix_spawn_file_actions_t()
        try check(posix_spawn_file_actions_init(&actions))
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, target) in [(input, STDIN_FILENO), (output, STDOUT_FILENO), (error, STDERR_FILENO)] {
            try check(posix_spawn_file_actions_adddup2(&actions, descriptor.rawValue, target))
        }
        try check(posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1))
        var attributes = posix_spawnattr_t()
        try check(posix_spawnattr_init(&attributes))
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        try check(posix_spawnattr_setsigmask(&attributes, &signals))
        if keepsIgnoredSignals { sigaddset(&signals, SIGPIPE) } else { sigfillset(&signals) }
        try check(posix_spawnattr_setsigdefault(&attributes, &signals))
        try check(posix_spawnattr_setpgroup(&attributes, 0))
        let group = hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group
        try check(posix_spawnattr_setflags(&attributes, Int16(flags)))
        var child: pid_t = 0
        try check(
            withStrings(arguments) { arguments in
                withStrings(environment) { posix_spawn(&child, path, &actions, &attributes, arguments, $0) }
            })
        let process = ProgramProcess(child, hasOwnGroup: hasOwnGroup)
        watcher.watch(process)
        return process
    }

    private static func check(_ code: Int32) throws(Errno) {
        guard code == 0 else { throw Errno(rawValue: code) }
    }

    /// Calls `body` with pointers to strings, each of which ends with a NUL, and a final nil.
    private static func withStrings<Result>(
        _ strings: [UInt8], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        var strings = strings
        return strings.withUnsafeMutableBytes { bytes in
            var pointers: [UnsafeMutablePointer<CChar>?] = []
            var next = bytes.bindMemory(to: CChar.self)[...]
            while let start = UnsafeMutableBufferPointer(rebasing: next).baseAddress, !next.isEmpty {
                pointers.append(start)
                next = next.dropFirst(strlen(start) + 1)
            }
            return body(pointers + [nil])
        }
    }

    /// Waits until the process has ended. Only one task may wait.
    func waitForEnd() async -> Termination {
        await withCheckedContinuation { continuation in
            let termination = state.withLock { state in
                if state.termination == nil { state.waiter = continuation }
                return state.termination
            }
            if let termination { continuation.resume(returning: termination) }
        }
    }

    /// Sends a signal to the process or, if it has a process group of its own, to the group.
    ///
    /// - Returns: False if the process was reaped: another process or group may then have the id.
    @discardableResult
    func send(_ signal: Int32) -> Bool {
        state.withLock { $0.termination == nil && kill(hasOwnGroup ? -identifier : identifier, signal) == 0 }
    }

    /// Whether the process has ended. Reaps a process that has ended.
    func hasEnded() -> Bool {
        let (termination, waiter) = state.withLock { state in
            if state.termination == nil { state.termination = reap() }
            return (state.termination, state.termination == nil ? nil : state.waiter.take())
        }
        guard let termination else { return false }
        waiter?.resume(returning: termination)
        return true
    }

    /// Reaps the process.
    ///
    /// - Returns: Nil if the process still runs.
    private func reap() -> Termination? {
        var info = siginfo_t()
        while waitid(P_PID, id_t(identifier), &info, WEXITED | WNOHANG) != 0 {
            switch Errno.last {
            case .interrupted: continue
            case .noChildProcess: return .unknown
            case let error: preconditionFailure("can't wait for process \(identifier): \(error)")
            }
        }
        guard info._sifields._sigchld.si_pid != 0 else { return nil }
        let status = info._sifields._sigchld.si_status
        return info.si_code == CLD_EXITED ? .exited(status) : .signaled(status)
    }
}
