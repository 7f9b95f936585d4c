import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The output of commands on a terminal: local times, and tables that fit.
    @Suite struct NotifyctlTerminalTests {
        private static let zone = "XXX-05:30"
        private static let long = String(repeating: "long.", count: 30) + "name"

        private let daemon: Daemon
        private let notifyctl: Notifyctl
        private let poster: RawClient
        /// The sequence of a message that is in flight in one durable subscription, and was posted before another one
        /// began.
        private let sequence: UInt64

        init() async throws {
            daemon = try await Daemon.start()
            notifyctl = Notifyctl(daemon)
            poster = try RawClient(daemon)
            let durable = String(repeating: "d", count: 64)
            try poster.subscribe(
                Self.long, "\(Self.long).>", "a.*", "b.>", as: 1, durable: durable, object: "an object")
            try poster.post(Self.long, "x", object: "an object")
            sequence = try poster.message().sequence
            _ = try await notifyctl.run("durable", "create", "w", Self.long, "--group", "--max-deliveries", "1")
            try poster.post(Self.long, "bad")
            let failed = try await notifyctl.run(
                "wait", Self.long, "--durable", "w", "--group", "--", "sh", "-c", "echo no such disk >&2; exit 3")
            #expect(failed.status == .status(1))
        }

        /// The lines that a command prints on a terminal of this width, in a zone that is 5:30 hours ahead of UTC.
        private func lines(_ command: String, columns: Int = 80) async throws -> [Substring] {
            let inner = "stty cols \(columns) rows 24; TZ=\(Self.zone) notifyctl \(command)"
            // `script` runs the command on a terminal of its own.
            let result = try await notifyctl.shell("script -qec '\(inner)' /dev/null </dev/null")
            #expect(result.status == .status(0), "\(command): \(result.output)")
            return result.output.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("notifyctl: ") }
        }

        @Test(arguments: [
            "clients", "subscriptions", "names --interval 100ms", "durable list", "dead list", "log --summary",
            "top --plain --count 1 --interval 100ms", "top --view subscriptions --count 1 --interval 100ms",
            "top --view names --count 1 --interval 100ms",
        ])
        func `a table fits 80 columns of a terminal, and is complete in a pipe`(command: String) async throws {
            for arguments in [command, command + " --wide"] {
                let lines = try await lines(arguments)
                #expect(lines.count > (command.hasPrefix("names") ? 0 : 1), "\(arguments)")
                #expect(lines.allSatisfy { $0.count <= 80 }, "\(arguments): \(lines)")
            }
            let narrow = try await lines(command, columns: 40)
            #expect(narrow.allSatisfy { $0.count <= 40 }, "\(narrow)")
            let piped = try await notifyctl.shell("notifyctl \(command)")
            let wide = try await lines(command + " --wide", columns: 1000)
            #expect(!piped.output.contains("…"))
            let titles = piped.lines.first { $0.contains("  ") && $0.uppercased() == $0 }
            #expect(wide.contains { $0.split(separator: " ") == titles?.split(separator: " ") }, "\(wide)")
        }

        @Test func `a trace fits 80 columns`() async throws {
            let table = try await lines("trace \(sequence)").dropFirst()
            #expect(table.count == 3 && table.allSatisfy { $0.count <= 80 }, "\(table)")
        }

        @Test func `times on a terminal are local, with milliseconds and offset`() async throws {
            let local = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+05:30/
            let utc = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
            let exact = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/
            for command in [
                "dead list", "dead show", "log", "log --summary", "durable show w", "trace \(sequence)",
                "log --format {time}", "subscribe \(Self.long) --from oldest --count 1 --format {time}",
                "wait \(Self.long) --from oldest --format {time}", "durable reset w --to 0s",
            ] {
                let shown = try await lines(command).joined(separator: "\n")
                #expect(shown.contains(local) && !shown.contains(/\dZ/), "\(command): \(shown)")
                let inUTC = try await lines(command + " --utc").joined(separator: "\n")
                #expect(inUTC.contains(utc) && !inUTC.contains("+05:30"), "\(command): \(inUTC)")
                let piped = try await notifyctl.shell("TZ=\(Self.zone) notifyctl \(command)").output
                #expect(piped.contains(exact) && !piped.contains("+05:30"), "\(command): \(piped)")
            }
            for command in ["log --json", "dead list --json", "durable show w --json", "log --format {json}"] {
                let json = try await lines(command).joined(separator: "\n")
                #expect(json.contains(exact) && !json.contains("+05:30"), "\(command): \(json)")
            }
        }

        @Test func `a time from a terminal can be given as a start`() async throws {
            let time = try #require(try await lines("log --limit 1 --format {time}").first)
            #expect(try await lines("log --limit 1 --from \(time)").first?.contains(" \(sequence) ") == true)
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `--watch scrolls on a terminal, and restores it`() async throws {
            let clients = try (0..<12).map { _ in try RawClient(daemon) }
            try await TmuxTerminal.with(daemon, columns: 80, rows: 8) { terminal in
                try await terminal.type("notifyctl clients --watch --interval 100ms; echo status=$?")
                try await terminal.press("Enter")
                let first = try await terminal.wait("the table") { $0.table("CLIENT")?.compactMap(\.first) }
                #expect(first.count == 6)
                try await terminal.waitForText("POSTS/S")
                try await terminal.press("End")
                try await terminal.wait("the last rows") { screen in
                    let rows = screen.table("CLIENT") ?? []
                    return rows.last?.contains("notifyctl") == true && rows.count == 6 ? true : nil
                }
                try await terminal.type("w")
                try await terminal.waitForText("…")
                for _ in 0..<8 { try await terminal.press("Right") }
                try await terminal.waitForText("REFUSED")
                try await terminal.type("q")
                try await terminal.waitForText("status=0")
            }
            withExtendedLifetime(clients) {}
        }

        @Test(.enabled(if: Requirements.hasTmux), arguments: ["q", "C-c"])
        func `--watch can be quit before its first table while the daemon stands still`(_ key: String) async throws {
            let connections = try #require(try poster.statistics()["connections"])
            try await TmuxTerminal.with(daemon) { terminal in
                // The first table has rates, so it follows after an interval.
                try await terminal.type("notifyctl names --watch --interval 9s; echo status=$?")
                try await terminal.press("Enter")
                while try poster.statistics()["connections"] == connections {}
                daemon.process.send(SIGSTOP)
                try daemon.process.waitUntilStopped()
                try await terminal.press(key)
                try await terminal.waitForText("status=0")
            }
        }
    }
}
