import NotifyWire

/// Runs notifyctl as from a shell.
struct Notifyctl: Sendable {
    /// The daemon's socket; nil for the default of notifyctl.
    var socket: String?
    var environment: [String: String?] = [:]

    /// notifyctl with its default limit for the answers of the daemon, for a daemon that never answers.
    var impatient: Notifyctl {
        var copy = self
        copy.environment["NOTIFYCTL_ANSWER_TIMEOUT"] = .some(nil)
        return copy
    }

    init(_ daemon: Daemon) {
        socket = daemon.socket
    }

    init(socket: String?, environment: [String: String?] = [:]) {
        self.socket = socket
        self.environment = environment
    }

    struct Result: Sendable {
        var status: ChildProcess.Exit
        var output: String
        var errors: String
        var lines: [Substring] { output.split(separator: "\n") }
    }

    /// Runs notifyctl and waits for its end.
    func run(
        _ arguments: String..., input: ChildProcess.Input = .none, within limit: Duration = .seconds(300)
    ) async throws -> Result {
        try await run(arguments, input: input, within: limit)
    }

    /// Runs notifyctl and waits for its end.
    func run(
        _ arguments: [String], input: ChildProcess.Input = .none, within limit: Duration = .seconds(300)
    ) async throws -> Result {
        let process = try start(arguments, input: input)
        let status = try await process.waitForExit(within: limit)
        let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
        let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
        return Result(status: status, output: output.text, errors: errors.text)
    }

    /// Starts notifyctl without waiting for its end.
    func start(_ arguments: [String], input: ChildProcess.Input = .none) throws -> ChildProcess {
        try ChildProcess(
            Programs.notifyctl, arguments,
            environment: Daemon.clean.merging(["NOTIFYD_SOCKET": socket]) { $1 }.merging(environment) { $1 },
            input: input)
    }

    /// Starts a command with a durable subscription to 'a', and returns once it has processed a message and the daemon
    /// has its answer.
    func startProcessing(_ arguments: [String], _ daemon: Daemon) async throws -> ChildProcess {
        let process = try start(arguments)
        try daemon.waitForSubscriptions(1)
        let client = try RawClient(daemon)
        try client.post("a")
        _ = try await process.waitForLines(1)
        while try client.list().contains(where: { $0.unacknowledged > 0 }) {}
        return process
    }
}
