import Glibc
import NotifyClient
import Synchronization
import SystemPackage

/// Runs a command for each message. Several commands may run at a time.
///
/// Each command has a process group of its own, so that Ctrl-C at the terminal reaches notifyctl alone.
final class JobRunner: Sendable {
    /// After the first signal, the maximum time to wait until the output of an exited command is printed.
    private static let outputLimit = Duration.seconds(3)
    /// The time between SIGTERM and SIGKILL.
    private static let grace = Duration.seconds(10)

    private let command: String
    private let path: String
    /// The path and the arguments, each with a final NUL.
    private let arguments: [UInt8]
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
        /// The running commands.
        var processes: [ObjectIdentifier: ProgramProcess] = [:]
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
    ) throws(CommandFailure) {
        self.command = command[0]
        do {
            path = try ProgramFile.find(command[0])
        } catch {
            throw Self.failure(command[0], Self.reason(error))
        }
        self.isPrefixed = isPrefixed
        output = isPrefixed || keepsErrors ? JobOutput() : nil
        arguments = ([path] + command.dropFirst()).flatMap { Array($0.utf8) + [0] }
        self.timeout = timeout
    }

    /// Runs the command for a message, and waits until the command has exited and the output in its pipes is printed.
    /// Does not wait for later output of its children. If the task is cancelled, ends the command: by SIGTERM, and
    /// after 10 seconds by SIGKILL.
    ///
    /// - Parameters:
    ///   - reply: Keeps the command's standard output instead of printing it; nil to print it.
    ///   - mayStart: Called once ``waitUntilIdle()`` waits for this run. False prevents the start of the command, as if
    ///     it was stopped.
    func run(
        _ message: NotificationClient.Message, keepingOutputIn reply: CollectedOutput? = nil,
        ifAllowed mayStart: () -> Bool = { true }
    ) async -> JobOutcome {
        running.withLock { $0.count += 1 }
        defer { runEnded() }
        guard mayStart() else { return .stopped(reason: "not started") }
        return await outcome(of: message, reply)
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

    /// Waits until no command runs and the output of all runs is printed.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = running.withLock { running in
                if running.count > 0 { running.idleWaiters.append(continuation) }
                return running.count == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func outcome(of message: NotificationClient.Message, _ reply: CollectedOutput?) async -> JobOutcome {
        let pipes: [JobOutput.Pipe]
        let process: ProgramProcess
        do {
            guard let opened = try await openPipes(for: message, reply) else { return .givenBack }
            pipes = opened
            process = try await start(message, pipes)
        } catch is CancellationError {
            return .givenBack
        } catch {
            return .notStarted(reason: Self.reason(error))
        }
        let outcome = await outcome(of: process)
        // The timeout of the command does not include this wait, because the reader of the output may be slow.
        for pipe in pipes { await pipe.drained() }
        return outcome.adding(errors: pipes.first?.tail.text ?? "")
    }

    /// Opens the pipes for the output of a command: standard error, and standard output if it is kept, or if lines have a
    /// prefix.
    ///
    /// - Returns: The pipes; nil if `work` ends and does not wait for the output of commands.
    private func openPipes(
        for message: NotificationClient.Message, _ reply: CollectedOutput?
    ) async throws -> [JobOutput.Pipe]? {
        guard let output else { return [] }
        let name = isPrefixed ? "\(message.name)" : nil
        var pipes: [JobOutput.Pipe] = []
        do {
            let isPiped = isPrefixed || reply != nil
            for descriptor in isPiped ? [STDERR_FILENO, STDOUT_FILENO] : [STDERR_FILENO] {
                let kept = descriptor == STDOUT_FILENO ? reply : nil
                guard let pipe = try await output.pipe(name, to: descriptor, keepingIn: kept) else {
                    for pipe in pipes { try? pipe.writeEnd.close() }
                    return nil
                }
                pipes.append(pipe)
            }
        } catch {
            for pipe in pipes { try? pipe.writeEnd.close() }
            throw error
        }
        return pipes
    }

    /// Starts the command, and closes the ends of the pipes that belong to the command.
    private func start(
        _ message: NotificationClient.Message, _ pipes: [JobOutput.Pipe]
    ) async throws -> ProgramProcess {
        defer { for pipe in pipes { try? pipe.writeEnd.close() } }
        let input = try message.withPayload { (bytes) throws(Errno) in try PayloadFile.open(bytes) }
        defer { try? input.close() }
        let environment = JobEnvironment.of(message)
        let error = pipes.first?.writeEnd ?? .standardError
        let output = pipes.count > 1 ? pipes[1].writeEnd : .standardOutput
        var pause = Duration.milliseconds(1)
        while true {
            do {
                // The file of the program may be on a disk that does not respond.
                let process = try await Blocking.run { [path, arguments] in
                    try ProgramProcess.start(
                        path, arguments: arguments, environment: environment, input: input, output: output,
                        error: error)
                }
                started(process)
                return process
            } catch Errno.resourceTemporarilyUnavailable where pause <= .milliseconds(16) {
                // Other processes may have reached the limit of processes only for a moment.
                try? await Task.sleep(for: pause)
                pause *= 2
            }
        }
    }

    /// Waits until the command has ended, and ends it at the timeout or if the task is cancelled.
    private func outcome(of process: ProgramProcess) async -> JobOutcome {
        defer { ended(process) }
        return await withTaskCancellationHandler {
            guard let timeout else { return JobOutcome(await process.waitForEnd()) }
            return await withTaskGroup(of: Bool.self) { group in
                group.addTask { (try? await Task.sleep(for: timeout)) != nil && Self.terminate(process) }
                let termination = await process.waitForEnd()
                group.cancelAll()
                let isTimedOut = await group.next() ?? false
                return JobOutcome(termination, timedOutAfter: isTimedOut ? timeout : nil)
            }
        } onCancel: {
            _ = Self.terminate(process)
        }
    }

    /// Ends a command: by SIGTERM, and by SIGKILL if the command still runs after `grace`.
    ///
    /// - Returns: False if the command had ended before.
    private static func terminate(_ process: ProgramProcess) -> Bool {
        guard process.send(SIGTERM) else { return false }
        Task {
            try? await Task.sleep(for: grace)
            process.send(SIGKILL)
        }
        return true
    }

    /// Passes on the signals that arrived while the command was started.
    private func started(_ process: ProgramProcess) {
        running.withLock { running in
            running.processes[ObjectIdentifier(process)] = process
            for signal in running.signals { process.send(signal) }
        }
    }

    private func ended(_ process: ProgramProcess) {
        _ = running.withLock { $0.processes.removeValue(forKey: ObjectIdentifier(process)) }
    }

    /// The reason why a command could not be started.
    static func reason(_ error: any Error) -> String {
        switch error as? Errno {
        case .execFormatError: "it is neither a program nor a script with a first line such as '#!/bin/sh'"
        case .noSuchFileOrDirectory, .permissionDenied, .notDirectory:
            "there is no such program, its file is not executable, or the interpreter in its first line is missing"
        default: "\(error)"
        }
    }

    /// The error of a command that could not be started.
    func failure(notStarted reason: String) -> CommandFailure { Self.failure(command, reason) }

    private static func failure(_ command: String, _ reason: String) -> CommandFailure {
        CommandFailure(.notStarted, "the command '\(command)' can't be started: \(reason)")
    }

    /// The number of commands that run.
    var runningCommands: Int { running.withLock { $0.processes.values.count { !$0.hasEnded() } } }

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
            for process in running.processes.values { process.send(signal) }
        }
    }
}
