/// notifyctl as a person at a shell would run it.
struct Notifyctl: Sendable {
    /// The daemon's socket; without one, notifyctl looks for itself.
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

    /// Runs to its end.
    func run(
        _ arguments: String..., input: ChildProcess.Input = .none, within limit: Duration = .seconds(300)
    ) async throws -> Result {
        let process = try start(arguments, input: input)
        let status = try await process.waitForExit(within: limit)
        let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
        let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
        return Result(status: status, output: output.text, errors: errors.text)
    }

    /// Starts it and leaves it running.
    func start(_ arguments: [String], input: ChildProcess.Input = .none) throws -> ChildProcess {
        try ChildProcess(
            Programs.notifyctl, arguments,
            environment: Daemon.clean.merging(["NOTIFYD_SOCKET": socket]) { $1 }.merging(environment) { $1 },
            input: input)
    }
}
