import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The daemon's log lines about its clients.
    @Suite struct DaemonLogTests {
        /// Returns the log of a daemon with this log level, after a client has made one request of each kind.
        private func log(level: String) async throws -> [Substring] {
            let daemon = try await Daemon.start(["--log-level", level])
            let client = try RawClient(daemon)
            try client.subscribe("a.*", as: 3, durable: "billing", object: "o")
            let receipt = try client.post("a.b", "xyz", object: "o")
            try client.acknowledge(3, through: receipt.sequence)
            expectRefusal(.invalidName) { try client.post("a..b") }
            try client.ping()
            _ = try client.list()
            _ = try client.statistics()
            try client.detach(3)
            try client.remove("billing")
            try await daemon.stop()
            return try await daemon.process.standardError.wait("the end of the log") { $0.isAtEnd ? $0.lines : nil }
        }

        /// The fields that identify the client in a line.
        private static let peer = ["pid=\(getpid())", "uid=\(geteuid())"]

        private static let events: [[String]] = [
            [" connected "], [" subscribed ", "subscription=3", "patterns=a.*", "object=o", "durable=billing"],
            [" refused: ", "code=invalidName"], [" detached ", "subscription=3"],
            [" removed durable subscription ", "durable=billing"], [" disconnected "],
        ]

        private static let requests: [[String]] =
            [[" post ", "name=a.b", "object=o", "bytes=3", "durability=automatic"]]
            + ["subscribe", "acknowledge", "ping", "list", "statistics", "detach", "remove"].map { [" \($0) "] }

        private func lines(_ log: [Substring], with parts: [String]) -> [Substring] {
            log.filter { line in (parts + Self.peer).allSatisfy { line.contains($0) } }
        }

        @Test func `the debug level shows connections, subscriptions and refusals`() async throws {
            let log = try await log(level: "debug")
            for parts in Self.events {
                #expect(lines(log, with: [" debug notifyd: "] + parts).count == 1, "\(parts): \(log)")
            }
            #expect(!log.contains { $0.contains(" trace ") })
            #expect(lines(log, with: [" post "]).isEmpty && lines(log, with: [" ping "]).isEmpty)
        }

        @Test func `the trace level also shows each request`() async throws {
            let log = try await log(level: "trace")
            for parts in Self.events {
                #expect(lines(log, with: [" debug notifyd: "] + parts).count == 1, "\(parts): \(log)")
            }
            for parts in Self.requests {
                #expect(lines(log, with: [" trace notifyd: "] + parts).count == 1, "\(parts): \(log)")
            }
        }

        @Test func `the info level does not log clients`() async throws {
            let log = try await log(level: "info")
            #expect(lines(log, with: []).isEmpty, "\(log)")
        }

        /// Without privileges, Dispatch fails to raise the priority of its thread, and logs the failure.
        /// `LIBDISPATCH_LOG` directs its log to standard error, but the programs turn the log off.
        @Test(.enabled(if: Requirements.canSwitchUser))
        func `programs without privileges print no log lines of Dispatch`() async throws {
            let folder = try TemporaryFolder()
            chmod(folder.path, 0o1777)
            let user = Requirements.asUser(54_321)
            let environment = ["LIBDISPATCH_LOG": "stderr", "HOME": folder.path]
            let run = try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")], environment: environment,
                launcher: user, managerPath: folder.file("manager"))
            try await run.ready()
            for arguments in [["post", "a", "text"], ["subscribe", "a", "--timeout", "0"], ["stats"]] {
                let command = user + [Programs.notifyctl, "--socket", folder.file("n.sock")] + arguments
                let client = try ChildProcess(command[0], Array(command.dropFirst()), environment: environment)
                _ = try await client.waitForExit()
                let errors = try await client.standardError.wait("the end") { $0.isAtEnd ? $0.lines : nil }
                #expect(errors.filter { !$0.hasPrefix("notifyctl: ") } == [])
            }
            #expect(try await run.stop() == .status(0))
            let lines = try await run.process.standardError.wait("the end") { $0.isAtEnd ? $0.lines : nil }
            #expect(!lines.isEmpty)
            #expect(lines.filter { !$0.contains(" notifyd: ") } == [])
        }

        @Test func `the help describes the log levels`() async throws {
            let help = try ChildProcess(Programs.notifyd, ["--help"])
            #expect(try await help.waitForExit() == .status(0))
            let text = try await help.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            expectText(words, "debug shows connections, subscriptions and refusals")
            expectText(words, "trace shows every request")
        }
    }
}
