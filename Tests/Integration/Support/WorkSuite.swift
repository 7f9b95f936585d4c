import Glibc
import TestSupport
import Testing
import WireTestSupport

/// A suite about jobs, whose messages are posted as `jobs.a`.
protocol WorkSuite: CommandSuite {}

extension WorkSuite {
    /// The folder for files of the jobs.
    var folder: TemporaryFolder { daemon.folder }

    /// Starts `work` with a shell script as its command.
    func start(_ options: [String] = [], script: String) throws -> ChildProcess {
        try notifyctl.start(["work", "jobs.>", "--durable", "w", "--group"] + options + ["--", "sh", "-c", script])
    }

    /// Starts a shell script, whose variables NOTIFYCTL and FOLDER are paths.
    func shell(_ script: String, _ environment: [String: String?] = [:]) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", script],
            environment: Daemon.clean.merging([
                "NOTIFYD_SOCKET": daemon.socket, "NOTIFYCTL": Programs.notifyctl, "FOLDER": folder.path,
            ]) { $1 }.merging(environment) { $1 })
    }

    func post(_ payloads: String...) throws { try post(payloads) }

    func post(_ payloads: [String]) throws {
        let requests = try payloads.map { try poster.send(post: "jobs.a", $0) }
        for request in requests { _ = try poster.receipt(of: request) }
    }

    /// Ends a command with SIGTERM, and expects that it succeeds.
    func stop(_ process: ChildProcess, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        process.send(SIGTERM)
        #expect(try await process.waitForExit() == .status(0), sourceLocation: sourceLocation)
    }
}
