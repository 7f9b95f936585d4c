import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl purge`.
    @Suite struct NotifyctlPurgeTests: CommandSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp(admitsOthers: true) }

        private func store(_ count: Int, _ name: String) throws -> [UInt64] {
            try (1...count).map { try poster.post(name, "\($0)", durability: .stored).sequence }
        }

        private func stored() async throws -> [String] {
            try await notifyctl.run("log", "--format", "{name} {text}").lines.map(String.init)
        }

        @Test func `'purge' deletes matching messages and reports their number`() async throws {
            let sequences = try store(4, "a")
            _ = try store(1, "b")
            try poster.subscribe("a", durable: "unread", from: .oldest)
            try poster.detach()
            let part = try await notifyctl.run("purge", "a", "--before", "\(sequences[2])", "--yes")
            #expect(part.status == .status(0) && part.output.hasPrefix("deleted 2 messages, "))
            #expect(part.output.hasSuffix("1 durable subscription had not read all\n"))
            #expect(try await stored() == ["a 3", "a 4", "b 1"])
            let none = try await notifyctl.run("purge", "a", "--before", "1h", "--yes")
            #expect(none.output == "deleted 0 messages, 0B\n")
            let rest = try await notifyctl.run("purge", ">", "-y")
            #expect(rest.output.hasPrefix("deleted 3 messages, "))
            #expect(try await stored() == [])
        }

        @Test func `a job that waits for its next delivery is purged, and its worker reports the loss`() async throws {
            let worker = try notifyctl.start(
                [
                    "work", "jobs.>", "--durable", "w", "--group", "--retry-after", "1h", "--", "sh", "-c",
                    "read job; echo $job; test $job = last",
                ])
            try daemon.waitForSubscriptions(1)
            _ = try poster.post("jobs.a", "secret", durability: .stored)
            func waiting() async throws -> Int? {
                try await notifyctl.run("durable", "show", "w", "--json").objects.first?["waiting"] as? Int
            }
            let deadline = ContinuousClock.now + .seconds(60)
            while try await waiting() != 1, ContinuousClock.now < deadline {}
            // The copy for the next delivery is stored together with this message at the latest.
            _ = try poster.post("other", durability: .stored)
            let result = try await notifyctl.run("purge", "jobs.>", "--yes")
            expectText(
                result.output, ", and 1 that waited for another delivery; 1 durable subscription had not read all")
            #expect(try await waiting() == 0)
            _ = try await worker.standardError.wait("the gap") {
                $0.text.contains("lost up to 1 message") ? true : nil
            }
            _ = try poster.post("jobs.a", "last", durability: .stored)
            #expect(try await worker.waitForLines(2) == ["secret", "last"])
            worker.send(SIGTERM)
            #expect(try await worker.waitForExit() == .status(0))
        }

        @Test(arguments: ["purge a", "dead purge"])
        func `if the question can't be written, an answer deletes nothing`(command: String) async throws {
            _ = try await notifyctl.run("post", "a", "1", "--durability", "stored")
            let inner = "notifyctl \(command) 2>/dev/full"
            let result = try await notifyctl.shell("echo yes | script -qec '\(inner)' /dev/null")
            #expect(result.status == .status(1), "\(result.output)")
            #expect(try await notifyctl.run("log", "a").lines.count == 1)
        }

        @Test func `a misspelt option is reported rather than a missing terminal`() async throws {
            let result = try await notifyctl.run("purge", "a", "--yse")
            #expect(result.status == .status(64))
            expectText(result.errors, "Unknown option '--yse'")
        }

        @Test func `without a terminal, 'purge' requires --yes`() async throws {
            _ = try store(1, "a")
            let result = try await notifyctl.run("purge", "a")
            #expect(result.status == .status(64) && result.errors.contains("--yes"))
            #expect(try await stored().count == 1)
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `'purge' asks for confirmation on a terminal`() async throws {
            _ = try store(1, "a")
            try await TmuxTerminal.with(daemon) { terminal in
                try await terminal.type("notifyctl purge a --before 9999; echo status $?")
                try await terminal.press("Enter")
                try await terminal.wait("the question") {
                    $0.text.contains("Delete the stored messages of 'a' with a sequence below 9999?") ? $0 : nil
                }
                try await terminal.type("no")
                try await terminal.press("Enter")
                try await terminal.wait("the end") { $0.text.contains("status 1") ? $0 : nil }
                #expect(try await stored().count == 1)
                try await terminal.type("notifyctl purge a; echo second $?")
                try await terminal.press("Enter")
                try await terminal.wait("the question") {
                    $0.text.components(separatedBy: "Delete the").count == 3 ? $0 : nil
                }
                try await terminal.type("yes")
                try await terminal.press("Enter")
                let end = try await terminal.wait("the end") { $0.text.contains("second 0") ? $0.text : nil }
                #expect(end.contains("deleted 1 message"))
            }
            let left = try await stored()
            #expect(left == [])
        }

        @Test(.enabled(if: Requirements.hasTmux), arguments: ["", " --before now"])
        func `messages that are posted while 'purge' asks remain`(options: String) async throws {
            _ = try store(1, "a.before")
            try await TmuxTerminal.with(daemon) { terminal in
                try await terminal.type("notifyctl purge 'a.*'\(options); echo status $?")
                try await terminal.press("Enter")
                try await terminal.wait("the question") { $0.text.contains("Delete the stored messages") ? $0 : nil }
                _ = try store(1, "a.after")
                try await terminal.type("yes")
                try await terminal.press("Enter")
                let end = try await terminal.wait("the end") { $0.text.contains("status 0") ? $0.text : nil }
                #expect(end.contains("deleted 1 message"))
            }
            let left = try await stored()
            #expect(left == ["a.after 1"])
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `another user may not purge`() async throws {
            _ = try store(1, "a")
            let client = try await OtherUser(1111).connect(to: daemon).client
            try client.greet()
            try client.send(Purge(request: client.newRequest(), patterns: ["a"]))
            let code = try client.wait("an error") { if case .error(let error) = $0 { error.code } else { nil } }
            #expect(code == ErrorCode.forbidden.rawValue)
            #expect(try await stored().count == 1)
        }
    }
}
