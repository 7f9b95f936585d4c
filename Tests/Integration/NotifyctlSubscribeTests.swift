import WireTestSupport
import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl subscribe`.
    @Suite struct NotifyctlSubscribeTests {
        private let daemon: Daemon
        private let poster: RawClient
        private let notifyctl: Notifyctl

        init() async throws {
            daemon = try await Daemon.start()
            poster = try RawClient(daemon)
            notifyctl = Notifyctl(daemon)
        }

        /// Starts notifyctl, and returns once it has subscribed.
        private func subscribe(_ arguments: String...) throws -> ChildProcess {
            let process = try notifyctl.start(["subscribe"] + arguments)
            try daemon.waitForSubscriptions(1)
            return process
        }

        // MARK: Output

        @Test func `'subscribe' prints payloads as they arrive`() async throws {
            let process = try subscribe("a.*", "a.b")
            try poster.post("a.b", "one")
            #expect(try await process.waitForLines(1) == ["one"])
            try poster.post("a.c", "")
            try poster.post("b", "not this")
            try poster.post("a.b", "three")
            #expect(try await process.waitForLines(3) == ["one", "", "three"])
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(0))
            #expect(process.standardError.current.text == "")
            try daemon.waitForSubscriptions(0)
        }

        @Test func `--verbose prints the name before each payload`() async throws {
            let process = try subscribe(">", "-v", "--object", "mine")
            try poster.post("a.b", "theirs", object: "theirs")
            try poster.post("a.b", "one two", object: "mine")
            #expect(try await process.waitForLines(1) == ["a.b one two"])
        }

        @Test func `JSON output has all fields`() async throws {
            let process = try notifyctl.start(["subscribe", "a.>", "--json", "-c", "2"])
            try daemon.waitForSubscriptions(1)
            let headers = try HeaderList.encode([("k", "v\"\n")])
            let posts = [
                postFrame(
                    poster.newRequest(), name: Array("a.ü".utf8), object: Array("o".utf8), headers: headers,
                    payload: Array("grüße\u{1}\\".utf8)),
                postFrame(poster.newRequest(), name: Array("a.b".utf8), payload: [0xFF, 0, 1]),
            ]
            try poster.send(posts[0] + posts[1])
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            let result = Notifyctl.Result(status: .status(0), output: output, errors: "")
            let objects = try result.objects
            let common: Set = [
                "sequence", "name", "object", "time", "uid", "gid", "pid", "headers", "redelivered",
            ]
            #expect(Set(objects[0].keys) == common.union(["payload"]))
            #expect(Set(objects[1].keys) == common.union(["payload_base64"]))
            #expect(objects[0]["name"] as? String == "a.ü")
            #expect(objects[0]["object"] as? String == "o")
            #expect(objects[0]["payload"] as? String == "grüße\u{1}\\")
            #expect(objects[0]["headers"] as? [String: String] == ["k": "v\"\n"])
            #expect(objects[0]["redelivered"] as? Bool == false)
            #expect(objects[0]["uid"] as? UInt32 == geteuid())
            #expect(objects[0]["pid"] as? Int32 == getpid())
            #expect(objects[1]["payload_base64"] as? String == "/wAB")
            #expect(objects[1]["object"] is NSNull)
            let time = try #require(objects[0]["time"] as? String)
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
        }

        @Test func `messages end with the chosen separator`() async throws {
            for (option, expected) in [("--raw", "one2\n"), ("--null", "one\u{0}2\n\u{0}"), ("-0", "one\u{0}2\n\u{0}")]
            {
                let process = try subscribe("a", option, "-c", "2")
                try poster.post("a", "one")
                try poster.post("a", "2\n")
                #expect(try await process.waitForExit() == .status(0))
                #expect(try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil } == expected)
                try daemon.waitForSubscriptions(0)
            }
        }

        @Test func `a start that has no effect on an existing durable subscription is reported`() async throws {
            let arguments = ["subscribe", "a", "--durable", "d", "--from", "oldest", "--count", "1"]
            let sequence = try poster.post("a", "1", durability: .stored).sequence
            let created = try notifyctl.start(arguments)
            #expect(try await created.waitForExit() == .status(0))
            #expect(try await created.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil } == "")
            try poster.post("a", "2")
            let resumed = try notifyctl.start(arguments)
            #expect(try await resumed.waitForExit() == .status(0))
            #expect(try await resumed.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil } == "2\n")
            let errors = try await resumed.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(errors.hasPrefix("notifyctl: 'd' exists and resumes after sequence \(sequence), not at --from"))
        }

        @Test func `a format can use every field`() async throws {
            let process = try subscribe(
                "a", "-c", "1", "--format",
                #"{sequence}\t{uid} {gid} {pid} {name} {object} {text} {header:k} \{{redelivered}"#)
            let headers = try HeaderList.encode([("k", "v w")])
            try poster.send(
                postFrame(
                    poster.newRequest(), name: Array("a".utf8), object: Array("o".utf8), headers: headers,
                    payload: Array("x y".utf8)))
            #expect(try await process.waitForExit() == .status(0))
            let text = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(text.hasSuffix("\t\(geteuid()) \(getegid()) \(getpid()) a o x y v w {false\n"), "\(text)")
        }

        // MARK: Ending

        @Test func `a second signal ends 'subscribe' immediately`() async throws {
            let process = try subscribe("a", "--durable", "mine")
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            // After the first signal, notifyctl waits for the daemon's confirmation.
            process.send(SIGINT)
            process.send(SIGTERM)
            let end = try await process.waitForExit()
            #expect(end == .signal(SIGINT) || end == .signal(SIGTERM))
            daemon.process.send(SIGCONT)
        }

        @Test func `an ignored SIGINT stays ignored`() async throws {
            let file = daemon.folder.file("pid")
            let script = "echo $$ > \(file); trap '' INT; exec notifyctl subscribe a -c 1"
            let notifyctl = notifyctl
            async let result = notifyctl.shell(script)
            try daemon.waitForSubscriptions(1)
            let pid = try #require(Int32(String(contentsOfFile: file, encoding: .utf8).dropLast()))
            kill(pid, SIGINT)
            try poster.post("a", "after")
            #expect(try await result.output == "after\n")
        }

        @Test func `'subscribe' ends after the given count`() async throws {
            let process = try subscribe("a", "--count", "3")
            for number in 1...5 { try poster.post("a", "\(number)") }
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.lines : nil }
            #expect(output == ["1", "2", "3"])
        }

        @Test func `a message in time ends 'subscribe' before its timeout`() async throws {
            let process = try subscribe("a", "-t", "600s", "-c", "1")
            try poster.post("a", "in time")
            #expect(try await process.waitForExit() == .status(0))
        }

        @Test(arguments: ["", "--durable mine"])
        func `'subscribe' ends as soon as its output pipe is closed`(durable: String) async throws {
            // No message arrives, so notifyctl must detect the closed pipe by itself.
            let result = try await notifyctl.shell("notifyctl subscribe a \(durable) | true")
            #expect(result.errors == "notifyctl: can't write to standard output: its reader has closed it\n")
            try daemon.waitForSubscriptions(0)
        }

        @Test func `'subscribe' ends if its output pipe is closed between messages`() async throws {
            let notifyctl = notifyctl
            async let result = notifyctl.shell("notifyctl subscribe a | head -n 1")
            try daemon.waitForSubscriptions(1)
            for number in 1...100 { try poster.send(post: "a", "\(number)", receipt: false) }
            let end = try await result
            #expect(end.output == "1\n")
            #expect(end.errors == "notifyctl: can't write to standard output: its reader has closed it\n")
            try daemon.waitForSubscriptions(0)
        }

        // MARK: Durable

        @Test func `successive runs on one durable subscription never print the same message`() async throws {
            let created = try subscribe("a", "--durable", "mine")
            created.send(SIGTERM)
            #expect(try await created.waitForExit() == .status(0))
            for number in 1...8 { try poster.post("a", "\(number)") }
            var printed: [String] = []
            for _ in 0..<8 {
                let result = try await notifyctl.run("subscribe", "a", "--durable", "mine", "-c", "1", "--json")
                #expect(result.status == .status(0))
                let object = try #require(try result.objects.first)
                printed.append(object["payload"] as? String ?? "")
                #expect(object["redelivered"] as? Bool == false)
            }
            #expect(printed == (1...8).map { "\($0)" })
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `after a signal, the printed messages are acknowledged`(signal: Int32) async throws {
            let process = try subscribe("a", "--durable", "mine")
            for number in 1...3 { try poster.post("a", "\(number)") }
            #expect(try await process.waitForLines(3) == ["1", "2", "3"])
            process.send(signal)
            #expect(try await process.waitForExit() == .status(0))
            try poster.post("a", "4")
            let next = try await notifyctl.run("subscribe", "a", "--durable", "mine", "-c", "1", "--json")
            #expect(try next.objects.first?["payload"] as? String == "4")
            #expect(try next.objects.first?["redelivered"] as? Bool == false)
        }

        @Test func `a signal before the last message of the count is a failure`() async throws {
            let process = try subscribe("a", "--durable", "mine", "--count", "3")
            try poster.post("a", "1")
            #expect(try await process.waitForLines(1) == ["1"])
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(1))
        }

        @Test func `'subscribe' begins at the given start`() async throws {
            try poster.post("a", "old", durability: .stored)
            let all = try await notifyctl.run("subscribe", "a", "--durable", "all", "--from", "oldest", "-c", "1")
            #expect(all.output == "old\n")
            let now = try subscribe("a", "--durable", "now", "--from", "now", "-c", "1")
            try poster.post("a", "new")
            #expect(try await now.waitForExit() == .status(0))
            let output = try await now.standardOutput.wait("the end") { $0.isAtEnd ? $0 : nil }
            #expect(output.text == "new\n")
        }

        @Test(arguments: [["oldest"], ["1h"], ["1"]])
        func `without a durable subscription, stored messages come before live ones`(_ start: [String]) async throws {
            for text in ["1", "2"] { try poster.post("a", text, durability: .stored) }
            try poster.post("a", "not stored", durability: .volatile)
            try poster.post("a", "other", object: "o", durability: .stored)
            let process = try subscribe("a", "-c", "4", "--from", start[0])
            _ = try await process.waitForLines(3)
            try poster.post("a", "live", durability: .volatile)
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0 : nil }
            #expect(output.text == "1\n2\nother\nlive\n")
        }

        // MARK: Errors

        @Test func `each error has its exit status and one line`() async throws {
            let holder = try RawClient(daemon)
            try holder.subscribe("a", durable: "held")
            try holder.subscribe("a", as: 2, durable: "free")
            try holder.detach(2)
            let cases: [(arguments: [String], status: Int32, part: String)] = [
                ([], 64, ""), (["a..b"], 64, ""), (["a.>.b"], 64, ""), (["a", "-c", "0"], 64, "count"),
                (["a", "-c", "x"], 64, "x"), (["a", "-t", "soon"], 64, "soon"), (["a", "-t", "-1"], 64, ""),
                (["a", "--from", "then"], 64, "then"), (["a", "--from", "999999"], 64, "beyond"),
                (["a", "--durable", "d", "--from", "then"], 64, "then"),
                (["a", "--durable", "d", "--from", "all"], 64, "oldest"),
                (["a", "--format", "{nam}"], 64, "header:KEY"),
                (["a", "--json", "--verbose"], 64, "--json"), (["a", "--raw", "--null"], 64, "--null"),
                (["a", "--durable", "a b"], 64, ""), (["a", "--bogus"], 64, "bogus"),
                (["a", "--durable", "held"], 1, "\(getpid())"), (["b", "--durable", "free"], 1, "patterns"),
            ]
            for (arguments, status, part) in cases {
                let process = try notifyctl.start(["subscribe"] + arguments)
                #expect(try await process.waitForExit() == .status(status), "\(arguments)")
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
                #expect(errors.lines.count == 1, "\(arguments): \(errors)")
                #expect(part.isEmpty || errors.text.contains(part), "\(arguments): \(errors)")
            }
        }
    }
}
