/// Runs notifyctl as from a shell.
struct Notifyctl: Sendable {
    /// The daemon's socket; nil for the default of notifyctl.
    var socket: String?
    var environment: [String: String?] = [:]

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
}
