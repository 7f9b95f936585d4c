import WireTestSupport
import Foundation

extension Notifyctl {
    /// Runs a script in which `notifyctl` and `notifyd` are the programs under test.
    func shell(_ script: String, within limit: Duration = .seconds(300)) async throws -> Result {
        let folder = URL(filePath: Programs.notifyctl).deletingLastPathComponent().path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let variables: [String: String?] = ["NOTIFYD_SOCKET": socket, "PATH": "\(folder):\(path)"]
        let process = try ChildProcess(
            "sh", ["-c", script],
            environment: Daemon.clean.merging(variables) { $1 }.merging(environment) { $1 })
        let status = try await process.waitForExit(within: limit)
        let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
        let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
        return Result(status: status, output: output.text, errors: errors.text)
    }

    /// Runs commands whose output pipe has no reader, and prints the status of the last command.
    func shellWithoutReader(_ commands: String) async throws -> Result {
        // Opening the pipe for writing waits until it has a reader. The script then waits for the end of this reader.
        try await shell(
            """
            folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT
            mkfifo "$folder/output"
            : <"$folder/output" & exec 3>"$folder/output"; wait $!
            (\(commands)) >&3; echo $?
            """)
    }
}

extension Notifyctl.Result {
    /// Each line of the output as a JSON object.
    var objects: [[String: Any]] {
        get throws {
            try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:] }
        }
    }
}

extension Daemon {
    /// Waits until this number of subscriptions exists. Polls the statistics.
    func waitForSubscriptions(_ wanted: UInt64, within limit: Duration = .seconds(300)) throws {
        try waitFor("subscriptions", wanted, within: limit)
    }

    /// Waits until this number of servers is registered. Polls the statistics.
    func waitForServers(_ wanted: UInt64) throws { try waitFor("servers", wanted) }

    private func waitFor(_ counter: String, _ wanted: UInt64, within limit: Duration = .seconds(300)) throws {
        let client = try RawClient(self)
        let deadline = ContinuousClock.now + limit
        var found: UInt64?
        while ContinuousClock.now < deadline {
            found = try client.statistics()[counter]
            if found == wanted { return }
        }
        throw TimedOut(description: "\(String(describing: found)) \(counter) exist instead of \(wanted)")
    }
}
