import Glibc
import NotifyClient
import Subprocess
import Synchronization
import SystemPackage

/// Runs a command for each message. Several commands may run at a time.
///
/// Each command has a process group of its own, so that Ctrl-C at the terminal reaches notifyctl alone.
final class JobRunner: Sendable {
    /// The time that `work` waits, after a signal, for the reader of the output of a command that has exited.
    private static let outputLimit = Duration.seconds(3)
    /// The time between SIGTERM and SIGKILL.
    private static let grace = Duration.seconds(10)

    private let command: String
    private let executable: Executable
    private let arguments: [String]
    private let timeout: Duration?
    /// Prints the output; nil if commands write to the descriptors of notifyctl.
    private let output: JobOutput?
    /// Whether the name of the message is printed before each line.
    private let isPrefixed: Bool
    private let running = Mutex(Running())

    private struct Running {
        /// The number of runs, from their start until their output is printed.
        var count = 0
        /// The tasks that wait until there are no runs.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
        /// The process groups of the running commands.
        var groups: Set<pid_t> = []
        /// The signals that were passed on.
        var signals: Set<Int32> = []
    }

    /// Finds the command: a path, or the name of a program in a folder of PATH.
    ///
    /// - Parameters:
    ///   - command: The command and its arguments; not empty.
    ///   - timeout: The time after which a run is ended.
    ///   - isPrefixed: Whether lines of output begin with the name of the message.
    ///   - keepsErrors: Whether the reason of a failure includes the end of the command's standard error. If so, the
    ///     standard error of the command is a pipe.
    /// - Throws: `CommandFailure` with `notStarted` if the file is not a program, or no folder of PATH has the program.
    init(
        _ command: [String], timeout: Duration? = nil, isPrefixed: Bool = false, keepsErrors: Bool = false
    ) async throws {
        self.command = command[0]
        do {
            let path: FilePath
            if command[0].utf8.contains(UInt8(ascii: "/")) {
                guard access(command[0], X_OK) == 0 else { throw Errno(rawValue: errno) }
                path = FilePath(command[0])
            } else {
                path = try await Executable.name(command[0]).resolveExecutablePath(in: .inherit)
            }
            // `access` and the search in PATH also find folders.
            guard try path.stat().type != .directory else { throw Errno.isDirectory }
            executable = .path(path)
        } catch {
            throw Self.failure(command[0], Self.reason(error))
        }
        self.isPrefixed = isPrefixed
        output = isPrefixed || keepsErrors ? JobOutput() : nil
        arguments = Array(command.dropFirst())
        self.timeout = timeout
    }

    /// Runs the command for a message, and waits for its exit, but not for the output of its children. If the task is
    /// cancelled, ends the command: by SIGTERM, and after 10 seconds by SIGKILL.
    func run(_ message: NotificationClient.Message) async -> JobOutcome {
        running.withLock { $0.count += 1 }
        defer { runEnded() }
        return await outcome(of: message)
    }

    private func runEnded() {
        let waiters = running.withLock { running -> [CheckedContinuation<Void, Never>] in
            running.count -= 1
            guard running.count == 0 else { return [] }
            defer { running.idleWaiters = [] }
            return running.idleWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no command runs.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = running.withLock { running in
                if running.count > 0 { running.idleWaiters.append(continuation) }
                return running.count == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func outcome(of message: NotificationClient.Message) async -> JobOutcome {
        do {
            guard let output else {
                return try await run(message, output: .standardOutput, error: .standardError, closing: [])
            }
            let name = isPrefixed ? "\(message.name)" : nil
            var pipes: [JobOutput.Pipe] = []
            do {
                for descriptor in isPrefixed ? [STDERR_FILENO, STDOUT_FILENO] : [STDERR_FILENO] {
                    guard let pipe = try await output.pipe(name, to: descriptor) else {
                        for pipe in pipes { try? pipe.writeEnd.close() }
                        return .givenBack
                    }
                    pipes.append(pipe)
                }
            } catch {
                for pipe in pipes { try? pipe.writeEnd.close() }
                throw error
            }
            let outcome = try await run(
                message, output: isPrefixed ? pipes[1].writeEnd : .standardOutput, error: pipes[0].writeEnd,
                closing: pipes.map(\.writeEnd))
            // The timeout of the command does not include this wait, because the reader of the output may be slow.
            for pipe in pipes { await pipe.drained() }
            return outcome.adding(errors: pipes[0].tail.text)
        } catch {
            return .notStarted(reason: Self.reason(error))
        }
    }

    /// Runs the command, and ends it at the timeout.
    ///
    /// - Parameter closing: The descriptors to close once the command has them.
    private func run(
        _ message: NotificationClient.Message, output: FileDescriptor, error: FileDescriptor,
        closing: [FileDescriptor]
    ) async throws -> JobOutcome {
        let payload: FileDescriptor
        do {
            payload = try message.withPayload { (bytes) throws(Errno) in try PayloadFile.open(bytes) }
        } catch let reason {
            for descriptor in closing { try? descriptor.close() }
            throw reason
        }
        let environment = JobEnvironment.of(message)
        let spawn = { @Sendable in
            try await self.spawn(
                environment, .fileDescriptor(payload, closeAfterSpawningProcess: true),
                .fileDescriptor(output, closeAfterSpawningProcess: closing.contains(output)),
                .fileDescriptor(error, closeAfterSpawningProcess: closing.contains(error)))
        }
        guard let timeout else { return JobOutcome(try await spawn()) }
        return try await withThrowingTaskGroup(of: TerminationStatus?.self) { group in
            group.addTask { try await spawn() }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            if let status = try await group.next() ?? nil {
                group.cancelAll()
                return JobOutcome(status)
            }
            // The first result is nil after the timeout, and also if the surrounding task was cancelled.
            group.cancelAll()
            let status = try await group.next() ?? nil
            return JobOutcome(status ?? .signaled(SIGKILL), timedOutAfter: timeout)
        }
    }

    private func spawn(
        _ environment: Environment, _ input: FileDescriptorInput, _ output: FileDescriptorOutput,
        _ error: FileDescriptorOutput
    ) async throws -> TerminationStatus {
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [
            .send(signal: .terminate, toProcessGroup: true, allowedDurationToNextStep: Self.grace)
        ]
        var group: pid_t?
        defer { if let group { ended(group) } }
        return try await Subprocess.run(
            executable, arguments: Arguments(arguments), environment: environment, platformOptions: options,
            input: input, output: output, error: error
        ) { execution in
            group = execution.processIdentifier.value
            started(execution.processIdentifier.value)
        }.terminationStatus
    }

    /// Passes on the signals that arrived while the command was started.
    private func started(_ group: pid_t) {
        running.withLock { running in
            running.groups.insert(group)
            for signal in running.signals { Self.send(signal, to: group) }
        }
    }

    private func ended(_ group: pid_t) {
        _ = running.withLock { $0.groups.remove(group) }
    }

    /// Sends a signal to the process group of a command, unless the command was reaped: another group may then have the
    /// id.
    private static func send(_ signal: Int32, to group: pid_t) {
        if hasEnded(group) != nil { kill(-group, signal) }
    }

    /// Whether a command has ended; nil once it was reaped.
    private static func hasEnded(_ process: pid_t) -> Bool? {
        var info = siginfo_t()
        guard waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 else { return nil }
        return info._sifields._sigchld.si_pid != 0
    }

    /// The reason why a command could not be started.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? SubprocessError else { return "\(error)" }
        if error.underlyingError == .execFormatError {
            return "it is neither a program nor a script with a first line such as '#!/bin/sh'"
        }
        if error.code == .executableNotFound {
            return
                "there is no such program, its file is not executable, or the interpreter in its first line is missing"
        }
        return "\(error)"
    }

    /// The error of a command that could not be started.
    func failure(notStarted reason: String) -> CommandFailure { Self.failure(command, reason) }

    private static func failure(_ command: String, _ reason: String) -> CommandFailure {
        CommandFailure(.notStarted, "the command '\(command)' can't be started: \(reason)")
    }

    /// The number of commands that run. Asks the kernel, because the task of a command that has just ended may not have
    /// removed it yet.
    var runningCommands: Int { running.withLock { $0.groups.count(where: { Self.hasEnded($0) == false }) } }

    /// The reason why the output of commands could not be printed; nil if it was printed, or if its reader has closed
    /// it.
    var outputFailure: CommandFailure? { output?.failure }

    /// Ends the current waits for the output of commands, and all later ones.
    func abandonOutput() { output?.abandon() }

    /// Limits the waits for the output of each command, because its reader may have stalled.
    func limitOutput() { output?.limitWaits(to: Self.outputLimit) }

    /// Passes a signal on to the running commands, and to commands that are being started. Ends all waits for output,
    /// because its reader may have stalled.
    func passOn(_ signal: Int32) {
        abandonOutput()
        running.withLock { running in
            running.signals.insert(signal)
            for group in running.groups { Self.send(signal, to: group) }
        }
    }
}
