import Foundation
import Glibc
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl dead`, `durable set`, and the refusals by a group, with the real daemon.
    @Suite struct NotifyctlDeadTests: WorkSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        private func succeed(_ arguments: String...) async throws -> [Substring] {
            let process = try notifyctl.start(arguments)
            #expect(try await process.waitForExit() == .status(0), "\(arguments)")
            let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
            return output.text.split(separator: "\n")
        }

        private func run(_ arguments: [String]) async throws -> (status: ChildProcess.Exit, errors: String) {
            let process = try notifyctl.start(arguments)
            let status = try await process.waitForExit()
            return (status, try await process.standardError.wait("end") { $0.isAtEnd ? $0.text : nil })
        }

        /// Makes dead letters of messages with these payloads.
        ///
        /// - Returns: Their sequences.
        private func makeDeadLetters(_ payloads: [String]) async throws -> [String] {
            _ = try await succeed("durable", "create", "w", "jobs.>", "--group")
            for payload in payloads { try poster.post("jobs.a", payload) }
            for _ in payloads {
                let process = try notifyctl.start(
                    ["wait", "jobs.>", "--durable", "w", "--group", "--", "sh", "-c", "exit 65"])
                #expect(try await process.waitForExit() == .status(1))
            }
            let letters = try await notifyctl.run("dead", "list", "w", "--json").objects
            #expect(letters.count == payloads.count)
            return letters.compactMap { $0["sequence"] as? Int }.map(String.init)
        }

        @Test func `dead letters are shown, retried and deleted by their sequence`() async throws {
            let sequences = try await makeDeadLetters(["one", "two", "three"])
            try #require(sequences.count == 3)
            let text = try await succeed("dead", "show", "w", "--id", sequences[1]).joined(separator: "\n")
            #expect(text.contains("exit status 65") && text.contains("jobs.a") && text.hasSuffix("two"))
            _ = try await succeed("dead", "retry", "--id", sequences[0])
            #expect(try await succeed("wait", "jobs.>", "--durable", "w", "--group") == ["one"])
            _ = try await succeed("dead", "purge", "w", "--id", sequences[1])
            let left = try await notifyctl.run("dead", "list", "--user", "\(getuid())", "--json").objects
            #expect(left.compactMap { $0["sequence"] as? Int }.map(String.init) == [sequences[2]])
            #expect(try await notifyctl.run("dead", "retry", "nosuch").status != .status(0))
            let missing = try await notifyctl.run("dead", "show", "--id", sequences[0])
            #expect(missing.status == .status(1))
            _ = try await succeed("dead", "purge", "--yes")
            #expect(try await notifyctl.run("dead", "list", "--json").objects.isEmpty)
        }

        @Test func `a list of dead letters reports damaged ones`() async throws {
            let sequences = try await makeDeadLetters(["one", "text 2;", "three"])
            try await daemon.stop()
            try daemon.damage("text 2;")
            try await daemon.start()
            let result = try await notifyctl.run("dead", "list", "w", "--json")
            #expect(result.status == .status(0))
            #expect(
                try result.objects.compactMap { $0["sequence"] as? Int }.map(String.init)
                    == [sequences[0], sequences[2]])
            expectText(
                result.errors, "lost up to 1 message (\(sequences[1])): they are damaged in the daemon's log")
        }

        @Test func `the name of a subscription that does not exist is an error`() async throws {
            _ = try await succeed("durable", "create", "idle", "other.>")
            for arguments in [["list"], ["show"], ["retry"], ["purge", "--yes"]] {
                let result = try await run(["dead"] + arguments + ["nosuch"])
                #expect(result.status == .status(1), "\(arguments)")
                expectText(result.errors, "no durable subscription 'nosuch'")
                #expect(try await run(["dead"] + arguments + ["idle"]).status == .status(0))
            }
            // The dead letters of a subscription that was removed stay.
            _ = try await makeDeadLetters(["one"])
            _ = try await succeed("durable", "remove", "w")
            #expect(try await succeed("dead", "list", "w", "--json").count == 1)
        }

        @Test func `the reason of a failure has the last 1 KiB of the command's standard error`() async throws {
            let script = "printf 'x%.0s' $(seq 2000) >&2; printf '\\n\\033[31mno\\377disk\\n' >&2; exit 65"
            let worker = try start(script: script)
            try daemon.waitForSubscriptions(1)
            try poster.post("jobs.a", "one")
            let errors = try await worker.standardError.wait("the report") { $0.lineCount >= 3 ? $0.lines : nil }
            #expect(errors[0] == String(repeating: "x", count: 2000), "the output is passed through")
            #expect(errors[2].hasSuffix("has failed: exit status 65: it becomes a dead letter"))
            try await stop(worker)
            var letters: [[String: Any]] = []
            let deadline = ContinuousClock.now + .seconds(60)
            while letters.isEmpty, ContinuousClock.now < deadline {
                letters = try await notifyctl.run("dead", "list", "w", "--json").objects
            }
            let reason = try #require(letters.first?["reason"] as? String)
            #expect(reason.hasPrefix("exit status 65\nxxx") && reason.hasSuffix("xxx\n\u{FFFD}[31mno\u{FFFD}disk"))
            #expect((1_000...1_060).contains(reason.utf8.count))
        }

        @Test func `a trace and the details of a subscription have the last failure and next delivery`() async throws {
            let script = "printf 'x%.0s' $(seq 2000) >&2; printf '\\n\\033[31mno\\377disk\\n' >&2; exit 3"
            let worker = try start(["--retry-after", "1h"], script: script)
            try daemon.waitForSubscriptions(1)
            let sequence = try poster.post("jobs.a", "one").sequence
            let errors = try await worker.standardError.wait("the report") { $0.lineCount >= 3 ? $0.lines : nil }
            #expect(errors[0] == String(repeating: "x", count: 2000), "the output is passed through")
            #expect(errors[2].hasSuffix("has failed: exit status 3 (delivery 1)"))
            func traced() async throws -> [String: Any] {
                let trace = try #require(try await notifyctl.run("trace", "\(sequence)", "--json").objects.first)
                return try #require((trace["states"] as? [[String: Any]])?.first)
            }
            var entry = try await traced()
            let deadline = ContinuousClock.now + .seconds(60)
            while entry["state"] as? String != "waiting", ContinuousClock.now < deadline { entry = try await traced() }
            let reason = try #require(entry["reason"] as? String)
            #expect(reason.hasPrefix("exit status 3\nxxx") && reason.hasSuffix("xxx\n\u{FFFD}[31mno\u{FFFD}disk"))
            #expect((1_000...1_060).contains(reason.utf8.count))
            #expect(entry["failures"] as? Int == 1 && entry["next_delivery"] is String)
            let shown = try #require(try await notifyctl.run("durable", "show", "w", "--json").objects.first)
            let failure = try #require(shown["last_failure"] as? [String: Any])
            #expect(failure["reason"] as? String == reason && failure["sequence"] as? Int == Int(sequence))
            // The daemon converts the time of its monotonic clock for each answer.
            func date(_ time: Any?) throws -> Date {
                try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(try #require(time as? String))
            }
            #expect(abs(try date(shown["next_delivery"]).timeIntervalSince(date(entry["next_delivery"]))) < 0.1)
            let text = try await succeed("trace", "\(sequence)").joined(separator: "\n")
            expectText(text, "failed deliveries to w: 1, the last one: exit status 3")
            expectText(text, "next delivery to w: ")
            try await stop(worker)

            // After a restart, the log still has the reason.
            try await daemon.stop()
            try await daemon.start()
            #expect(try await traced()["reason"] as? String == reason)
            expectText(
                try await succeed("durable", "show", "w").joined(separator: "\n"), "before the daemon's start, message")
        }

        @Test func `a trace shows a message that failed as waiting, then as a dead letter`() async throws {
            _ = try await succeed(
                "durable", "create", "w", "jobs.>", "--group", "--retry-after", "1h", "--max-deliveries", "2")
            _ = try await succeed("durable", "create", "done", "jobs.>")
            let sequence = try poster.post("jobs.a", "one").sequence
            #expect(try await succeed("wait", "jobs.>", "--durable", "done") == ["one"])
            func states() async throws -> [[String: Any]] {
                let trace = try #require(try await notifyctl.run("trace", "\(sequence)", "--json").objects.first)
                return try #require(trace["states"] as? [[String: Any]])
            }
            func fail(_ status: Int) async throws {
                let process = try notifyctl.start(
                    ["wait", "jobs.>", "--durable", "w", "--group", "--", "sh", "-c", "exit \(status)"])
                #expect(try await process.waitForExit() == .status(1))
            }
            try await fail(1)
            #expect(try await states().map { $0["state"] as? String } == ["acknowledged", "waiting"])
            _ = try await succeed("durable", "reset", "w", "--to", "oldest")
            try await fail(65)
            let traced = try await states()
            #expect(traced.map { $0["state"] as? String } == ["acknowledged", "deadLetter"])
            let letter = try #require(
                try await notifyctl.run("dead", "list", "--json").objects.first?["sequence"] as? Int)
            #expect(traced[1]["dead_letter"] as? Int == letter && traced[0]["dead_letter"] is NSNull)
            let lines = try await succeed("trace", "\(sequence)")
            #expect(lines.last?.contains("dead letter \(letter)") == true, "\(lines)")
            _ = try await succeed("dead", "retry", "w")
            #expect(try await states().map { $0["state"] as? String } == ["acknowledged", "waiting"])
        }

        @Test func `'durable set' changes settings, and 'durable show' prints them`() async throws {
            _ = try await succeed("durable", "create", "w", "jobs.>", "--group")
            let lines = try await succeed(
                "durable", "set", "w", "--deadline", "200ms", "--retry-after", "1s,10s", "--max-deliveries", "2",
                "--in-flight", "7")
            #expect(
                lines == ["set w: --deadline 200ms --retry-after 1s,10s --max-deliveries 2 --in-flight 7"])
            let shown = try await succeed("durable", "show", "w").joined(separator: "\n")
            #expect(shown.contains("200ms") && shown.contains("1s,10s"))
            let refused = try await notifyctl.run("durable", "set", "w", "--deadline", "1ms")
            #expect(refused.status != .status(0))
        }

        @Test func `without --takeover, a group and an exclusive client refuse each other`() async throws {
            let member = try notifyctl.start(["work", "jobs.>", "--durable", "w", "--group", "--", "cat"])
            try daemon.waitForSubscriptions(1)
            let refused = try notifyctl.start(["subscribe", "jobs.>", "--durable", "w"])
            #expect(try await refused.waitForExit() != .status(0))
            let errors = try await refused.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            expectText(errors.text, "process \(member.pid)")
            expectText(errors.text, "--takeover")
            let holder = try notifyctl.start(["subscribe", "jobs.>", "--durable", "w", "--takeover"])
            #expect(try await member.waitForExit() != .status(0))
            try daemon.waitForSubscriptions(1)
            try poster.post("jobs.a", "one")
            #expect(try await holder.waitForLines(1) == ["one"])
            let worker = try notifyctl.start(["work", "jobs.>", "--durable", "w", "--group", "--", "cat"])
            #expect(try await worker.waitForExit() != .status(0))
            holder.send(SIGTERM)
            #expect(try await holder.waitForExit() == .status(0))
        }
    }
}
