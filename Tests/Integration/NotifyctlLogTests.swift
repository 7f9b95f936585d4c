import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl log`.
    @Suite struct NotifyctlLogTests: CommandSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp(admitsOthers: true) }

        /// Stores messages with the texts 1, 2, …, and returns their sequences.
        private func store(_ count: Int, _ name: String = "a") throws -> [UInt64] {
            try (1...count).map { try poster.post(name, "\($0)", durability: .stored).sequence }
        }

        /// The payloads that `notifyctl log` prints.
        private func log(_ arguments: String...) async throws -> [String] {
            let process = try notifyctl.start(["log", "--format", "{text}"] + arguments)
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            return output.split(separator: "\n").map(String.init)
        }

        @Test func `'log' prints stored messages with time and sequence`() async throws {
            let sequences = try store(2, "orders.created")
            try poster.post("orders.created", "volatile", durability: .volatile)
            let result = try await notifyctl.run("log")
            #expect(result.status == .status(0) && result.errors == "")
            #expect(result.lines.count == 2)
            for (line, (number, sequence)) in zip(result.lines, zip(1..., sequences)) {
                let fields = line.split(separator: " ")
                #expect(fields.dropFirst() == ["\(sequence)", "orders.created", "\(number)"])
                #expect(fields.first?.contains("T") == true)
            }
            let object = try #require(try await notifyctl.run("log", "--json", "--limit", "1").objects.first)
            #expect(object["payload"] as? String == "1" && object["sequence"] as? UInt64 == sequences[0])
        }

        @Test func `'log' from a sequence reports deletions after that sequence`() async throws {
            _ = try store(1, "other")
            let sequences = try store(5)
            _ = try await notifyctl.run("purge", "a", "--before", "\(sequences[3])", "--yes")
            let result = try await notifyctl.run(
                "log", "a", "--from", "\(sequences[0])", "--format", "{sequence}")
            #expect(result.lines.map(String.init) == sequences.suffix(2).map { "\($0)" })
            expectText(
                result.errors,
                "lost 3 messages (\(sequences[0])–\(sequences[2])): the daemon no longer keeps them\n")
            let subscribed = try await notifyctl.run(
                "subscribe", "a", "--from", "\(sequences[0])", "--count", "1", "--timeout", "60")
            #expect(subscribed.status == .status(0))
            expectText(subscribed.errors, "(\(sequences[0])–\(sequences[2])): the daemon no longer keeps them\n")
            let other = try await notifyctl.run("log", "other", "--from", "\(sequences[0] - 1)")
            #expect(other.errors == "" && other.lines.count == 1, "no message of this name was deleted")
            #expect(try await notifyctl.run("log", "a").errors == "", "by default, no deletions are reported")
        }

        @Test func `a follower overtaken by a purge prints the remaining messages and reports the loss`() async throws {
            let (started, gate) = (daemon.folder.file("started"), daemon.folder.file("gate"))
            let errors = daemon.folder.file("errors")
            for path in [started, gate] { mkfifo(path, 0o600) }
            let count = 3_000
            let payload = String(repeating: "x", count: 1_000)
            let requests = try (0..<count).map { _ in
                try poster.send(post: "load.a", payload, durability: .stored)
            }
            for request in requests { _ = try poster.receipt(of: request) }
            // The reader takes one line, waits until the gate is opened, and then counts the others.
            let reader = """
                import sys
                sys.stdin.buffer.readline()
                open(sys.argv[1], "w").write("started")
                open(sys.argv[2]).read()
                count = 1
                while sys.stdin.buffer.readline() != b"end\\n":
                    count += 1
                print(count)
                """
            let log = "notifyctl log load.a --follow --format '{payload}' --limit \(count) 2> \(errors)"
            let notifyctl = notifyctl
            async let reading = notifyctl.shell("(\(log)) | python3 -c '\(reader)' \(started) \(gate)")
            #expect(try await notifyctl.shell("cat \(started)").output == "started")
            _ = try await notifyctl.run("purge", "load.>", "--yes")
            _ = try poster.post("load.a", "end", durability: .stored)
            #expect(try await notifyctl.shell("echo > \(gate)").status == .status(0))
            let printed = try #require(Int(try await reading.output.trimmingCharacters(in: .whitespacesAndNewlines)))
            let reported = try String(contentsOfFile: errors, encoding: .utf8)
            let missed = reported.matches(of: /lost (?:up to )?(\d+) messages/).compactMap { Int($0.output.1) }
            #expect(printed < count && missed.count == 1, "\(reported)")
            #expect(printed + missed.reduce(0, +) == count, "\(reported)")
        }

        @Test func `a message can't send escape sequences to a terminal`() async throws {
            _ = try poster.post("a", "\u{1B}[31mred", durability: .stored)
            // `script` runs the command on a terminal of its own.
            let shown = try await notifyctl.shell("script -qec 'notifyctl log --format {payload}' /dev/null </dev/null")
            #expect(shown.status == .status(0))
            #expect(shown.output == "\u{FFFD}[31mred\r\n")
            let piped = try await notifyctl.shell("notifyctl log --format {payload} | cat")
            #expect(piped.output == "\u{1B}[31mred\n")
            let raw = try await notifyctl.shell(
                "script -qec 'notifyctl log --format {payload} --raw' /dev/null </dev/null")
            #expect(raw.output == "\u{1B}[31mred")
        }

        @Test func `'log' prints the messages between two positions, up to a limit`() async throws {
            let sequences = try store(6)
            try poster.post("b", "other", durability: .stored)
            try poster.post("a", "object", object: "o", durability: .stored)
            #expect(try await log("a", "--from", "\(sequences[1])", "--to", "\(sequences[3])") == ["2", "3", "4"])
            #expect(try await log("a", "--from", "\(sequences[1])", "--limit", "2") == ["2", "3"])
            #expect(try await log("b", "c") == ["other"])
            #expect(try await log("--object", "o") == ["object"])
            #expect(try await log("--from", "1h", "--to", "1h") == [])
            #expect(try await log("--from", "1h", "--limit", "1") == ["1"])
            #expect(try await log("--from", "now") == [])
        }

        @Test func `'log' from a time before the oldest message reports that older ones were deleted`() async throws {
            try poster.post("a", "0", durability: .stored)
            try poster.post("b", "0", durability: .stored)
            #expect(try await notifyctl.run("purge", ">", "--yes").status == .status(0))
            let first = try poster.post("a", "1", durability: .stored)
            try poster.post("b", "2", durability: .stored)
            let second = "no such message is stored from before "
            let cases: [(arguments: [String], output: String, errors: String?)] = [
                (["--from", "1h"], "1\n2\n", second), (["a", "--from", "1h", "--json"], "{", second),
                (["a", "--from", "2h", "--to", "1h"], "", second), (["b", "-r", "--from", "2h"], "2\n", second),
                (["c", "--from", "1h"], "", "no such message is stored\n"),
                (["c", "--from", "0s"], "", "no such message is stored\n"), (["a", "--from", "0s"], "", nil),
                (["a", "--from", "oldest"], "1\n", nil), (["a", "--from", "\(first.sequence)"], "1\n", nil),
                (["a", "--from", "now"], "", nil), (["b", "--from", "1h", "--limit", "1"], "2\n", second),
            ]
            for (arguments, output, errors) in cases {
                let format = arguments.contains("--json") ? [] : ["--format", "{text}"]
                let process = try notifyctl.start(["log"] + arguments + format)
                #expect(try await process.waitForExit() == .status(0))
                let printed = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
                #expect(format.isEmpty ? printed.hasPrefix(output) : printed == output, "\(arguments)")
                let reported = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
                #expect(errors.map { reported.hasPrefix("notifyctl: \($0)") } ?? reported.isEmpty, "\(arguments)")
                #expect(reported.split(separator: "\n").count == (errors == nil ? 0 : 1))
            }
        }

        @Test func `'log' from a time reports deletions even if older messages are stored`() async throws {
            try poster.post("b", "0", durability: .stored)
            var sequences: [UInt64] = []
            for number in 1...4 {
                // Each message is posted at least 2 ms after the previous one, so that their times differ even in
                // milliseconds.
                let time = ContinuousClock.now + .milliseconds(2)
                while ContinuousClock.now < time {}
                sequences.append(try poster.post("a", "\(number)", durability: .stored).sequence)
            }
            let time = try #require(
                try await notifyctl.run("log", "a", "--limit", "1", "--format", "{time}").lines.first)
            func errors(_ arguments: String...) async throws -> String {
                try await notifyctl.run(["log", "--from", "\(time)"] + arguments).errors
            }
            #expect(try await errors() == "")
            // First a deletion after the first printed message, then a deletion before it.
            try poster.post("c", "5", durability: .stored)
            try poster.post("d", "6", durability: .stored)
            #expect(try await notifyctl.run("purge", "c", "--yes").status == .status(0))
            expectText(try await errors(), "notifyctl: lost up to 1 message (")
            #expect(try await errors("b") == "")
            let before = "\(sequences[2])"
            #expect(try await notifyctl.run("purge", "a", "--before", before, "--yes").status == .status(0))
            let deleted = try await errors("a")
            expectText(deleted, "notifyctl: messages may be missing: some that were posted after 20")
            #expect(deleted.hasSuffix(" were deleted, by the rules of log.retention or by a purge\n"), "\(deleted)")
            #expect(try await errors("d") == "")
        }

        @Test func `a new durable subscription reports deletions after its start`() async throws {
            let sequences = try store(3)
            #expect(try await notifyctl.run("purge", "a", "--before", "\(sequences[2])", "--yes").status == .status(0))
            for durable in ["first", "second"] {
                let start = durable == "first" ? sequences[0] : sequences[2]
                let result = try await notifyctl.run(
                    "subscribe", "a", "--durable", durable, "--from", "\(start)", "--count", "1")
                #expect(result.status == .status(0) && result.output == "3\n")
                #expect(result.errors.contains("lost ") == (durable == "first"), "\(result.errors)")
            }
        }

        @Test func `'log' names the rules of the log as a reason only if messages were deleted`() async throws {
            try poster.post("a", "1", durability: .stored)
            let before = try await notifyctl.run("log", "c", "--from", "1h")
            #expect(before.errors == "notifyctl: no such message is stored\n")
            #expect(try await notifyctl.run("purge", "a", "--yes").status == .status(0))
            let deleted = "older ones were deleted, by the rules of log.retention or by a purge\n"
            let after = try await notifyctl.run("log", "a", "--from", "1h")
            #expect(after.errors == "notifyctl: no such message is stored: \(deleted)")
            try poster.post("a", "2", durability: .stored)
            try poster.post("b", "3", durability: .stored)
            let later = try await notifyctl.run("log", "a", "--from", "1h")
            expectText(later.errors, "notifyctl: no such message is stored from before 20")
            expectText(later.errors, ": \(deleted)")
            let other = try await notifyctl.run("log", "b", "--from", "1h")
            #expect(other.errors == later.errors, "the notice is about all names if a message is found")
        }

        @Test func `'log' prints the newest messages first`() async throws {
            let sequences = try store(6)
            #expect(try await log("a", "--reverse", "--limit", "2") == ["6", "5"])
            #expect(try await log("a", "-r", "--to", "\(sequences[3])") == ["4", "3", "2", "1"])
            #expect(try await log("a", "-r", "--from", "\(sequences[4])") == ["6", "5"])
            #expect(try await log("a", "-r", "--from", "1h", "--to", "1h") == [])
        }

        @Test func `'log' prints more messages than a page holds`() async throws {
            let count = 10_000
            let requests = try (0..<count).map { try poster.send(post: "a", "\($0)", durability: .stored) }
            _ = try poster.receipt(of: requests[count - 1])
            #expect(try await log("a") == (0..<count).map(String.init))
            #expect(try await log("a", "--reverse") == (0..<count).reversed().map(String.init))
        }

        @Test func `'log --follow' prints each message once while others are posted`() async throws {
            let count = 2000
            for index in 0..<count / 2 { try poster.send(post: "a", "\(index)", durability: .stored) }
            let process = try notifyctl.start([
                "log", "a", "--follow", "--limit", "\(count)", "--format", "{text}",
            ])
            for index in count / 2..<count { try poster.send(post: "a", "\(index)", durability: .stored) }
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(output.split(separator: "\n").map(String.init) == (0..<count).map(String.init))
        }

        @Test func `the summary begins with the names that take the most space`() async throws {
            let sequences = try store(3)
            try poster.post("big", String(repeating: "x", count: 10_000), durability: .stored)
            let table = try await notifyctl.run("log", "--summary")
            #expect(table.status == .status(0) && table.lines.count == 3)
            #expect(table.lines[0].hasPrefix("NAME") && table.lines[1].hasPrefix("big "))
            #expect(table.lines[2].hasPrefix("a "))
            let objects = try await notifyctl.run("log", "--summary", "--json", "a").objects
            let object = try #require(objects.first)
            #expect(objects.count == 1 && object["name"] as? String == "a" && object["messages"] as? Int == 3)
            #expect(object["first_sequence"] as? UInt64 == sequences[0])
            #expect(object["last_sequence"] as? UInt64 == sequences[2])
            let first = try await notifyctl.run("log", "--summary", "--limit", "1")
            #expect(first.lines.count == 3 && first.lines[2].contains("(other names)"))
            #expect(try await notifyctl.run("log", "--summary", "--from", "now").lines.count == 1)
        }

        @Test func `a signal before the last message of --limit is a failure`() async throws {
            try poster.post("a", "1", durability: .stored)
            let process = try notifyctl.start(["log", "a", "--follow", "--limit", "2"])
            _ = try await process.waitForLines(1)
            process.send(SIGINT)
            #expect(try await process.waitForExit() == .status(1))
        }

        @Test func `a signal ends 'log --follow'`() async throws {
            let process = try notifyctl.start(["log", "--follow", "--format", "{text}"])
            try poster.post("a", "first", durability: .stored)
            _ = try await process.waitForLines(1)
            process.send(SIGINT)
            #expect(try await process.waitForExit() == .status(0))
        }

        @Test(arguments: [
            ["--from", "tomorrowish"], ["--to", "0"], ["--limit", "0"], ["a..b"],
            ["--follow", "--reverse"], ["--follow", "--summary"], ["--reverse", "--summary"],
            ["--summary", "--object", "o"], ["--summary", "--raw"],
        ])
        func `'log' refuses invalid arguments`(_ arguments: [String]) async throws {
            let process = try notifyctl.start(["log"] + arguments)
            #expect(try await process.waitForExit() == .status(64))
        }

        @Test func `'log' refuses a start beyond the end of the log`() async throws {
            let refused = try await notifyctl.run("log", "--from", "999999")
            #expect(refused.status == .status(64))
            expectText(refused.errors, "sequence 999999 is beyond the end of the log")
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `a user sees nothing of a name that it may not receive`() async throws {
            try poster.post("user.1111.x", "hers", durability: .stored)
            try poster.post("user.2222.x", "not hers", durability: .stored)
            try poster.post("open", "all", durability: .stored)
            let client = try await OtherUser(1111).connect(to: daemon).client
            try client.greet()
            let request = client.newRequest()
            try client.send(ReadLog(request: request, patterns: [">"]))
            let page = try client.wait("a page") { if case .logPage(let page) = $0 { page } else { nil } }
            #expect(page.count == 2)
            #expect(try client.message().text == "hers")
            #expect(try client.message().text == "all")
        }
    }
}
