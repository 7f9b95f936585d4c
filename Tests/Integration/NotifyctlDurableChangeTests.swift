import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl durable show`, `reset` and `edit`.
    @Suite(.timeLimit(.minutes(25))) struct NotifyctlDurableChangeTests: CommandSuite {
        let setUp: CommandSetUp
        private let sequences: [UInt64]

        /// Starts a daemon, and stores the messages "0" to "4" of the names a, b, a, b, a. The durable subscription
        /// "mine" to `a` and `b` has acknowledged all of them.
        init() async throws {
            let setUp = try await CommandSetUp(admitsOthers: true)
            self.setUp = setUp
            sequences = try (0..<5).map { number in
                try setUp.poster.post(number.isMultiple(of: 2) ? "a" : "b", "\(number)", durability: .stored).sequence
            }
            let result = try await setUp.notifyctl.run(
                "subscribe", "a", "b", "--durable", "mine", "--from", "oldest", "-c", "5")
            #expect(result.output == "0\n1\n2\n3\n4\n")
        }

        private func received(_ count: Int, _ patterns: String...) async throws -> [String] {
            let process = try notifyctl.start(["subscribe"] + patterns + ["--durable", "mine", "-c", "\(count)"])
            let status = try await process.waitForExit()
            let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
            #expect(status == .status(0), "\(errors)")
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            return output.split(separator: "\n").map(String.init)
        }

        private func show() async throws -> [String: Any] {
            while true {
                let result = try await notifyctl.run("durable", "show", "mine", "--json")
                try #require(result.status == .status(0), "\(result.errors)")
                let object = try #require(try result.objects.first)
                if object["pending_messages"] is Int { return object }
            }
        }

        @Test func `a reset to oldest delivers all messages again, a reset to now none`() async throws {
            let oldest = try await notifyctl.run("durable", "reset", "mine", "--to", "oldest")
            #expect(oldest.status == .status(0), "\(oldest.errors)")
            #expect(oldest.output == "reset mine: continues with the oldest stored message\n")
            #expect(try await show()["pending_messages"] as? Int == 5)
            #expect(try await received(5, "a", "b") == ["0", "1", "2", "3", "4"])
            #expect(try await notifyctl.run("durable", "reset", "mine", "--to", "oldest").status == .status(0))
            let now = try await notifyctl.run("durable", "reset", "mine", "--to", "now")
            #expect(now.output == "reset mine: continues after sequence \(sequences[4])\n")
            #expect(try await show()["pending_messages"] as? Int == 0)
            try poster.post("a", "new")
            #expect(try await received(1, "a", "b") == ["new"])
            for (position, first) in [("\(sequences[3])", "3"), ("1h", "0"), ("2000-01-01", "0")] {
                #expect(try await notifyctl.run("durable", "reset", "mine", "--to", position).status == .status(0))
                #expect(try await received(1, "a", "b") == [first], "\(position)")
            }
        }

        @Test func `after a reset, a running subscriber continues at the new position`() async throws {
            let process = try notifyctl.start(["subscribe", "a", "b", "--durable", "mine", "-c", "7"])
            try poster.post("a", "first")
            _ = try await process.standardOutput.wait("the first message") { $0.text == "first\n" ? $0 : nil }
            let reset = try await notifyctl.run("durable", "reset", "mine", "--to", "\(sequences[0])")
            #expect(reset.status == .status(0), "\(reset.errors)")
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(output == "first\n0\n1\n2\n3\n4\nfirst\n")
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "its cursor was reset")
            #expect(try await show()["pending_messages"] as? Int == 0)
        }

        @Test func `a subscription that is reset and removed while its subscriber is stopped stays removed`()
            async throws
        {
            let process = try notifyctl.start(["subscribe", "a", "b", "--durable", "mine"])
            try poster.post("a", "first")
            _ = try await process.standardOutput.wait("the first message") { $0.text == "first\n" ? $0 : nil }
            process.send(SIGSTOP)
            for arguments in [["reset", "mine", "--to", "now"], ["remove", "mine", "--force"]] {
                let changed = try await notifyctl.run(["durable"] + arguments)
                #expect(changed.status == .status(0), "\(changed.errors)")
            }
            process.send(SIGCONT)
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "has no durable subscription 'mine'")
            #expect(try poster.list().isEmpty)
        }

        @Test func `a running subscriber receives by edited patterns, also after a restart`() async throws {
            let process = try notifyctl.start(["subscribe", "a", "b", "--durable", "mine", "-c", "4"])
            try poster.post("a", "first")
            _ = try await process.standardOutput.wait("the first message") { $0.text == "first\n" ? $0 : nil }
            let edited = try await notifyctl.run("durable", "edit", "mine", "--patterns", "c", "b")
            #expect(edited.status == .status(0) && edited.output == "edited mine: b c\n", "\(edited.errors)")
            for (name, text) in [("a", "not any more"), ("c", "second"), ("b", "third")] {
                try poster.post(name, text, durability: .stored)
            }
            _ = try await process.standardOutput.wait("two more") { $0.text == "first\nsecond\nthird\n" ? $0 : nil }
            try await daemon.kill()
            try await daemon.start()
            try RawClient(daemon).post("c", "fourth")
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            #expect(output == "first\nsecond\nthird\nfourth\n")
        }

        @Test func `an edit keeps the backlog that still matches`() async throws {
            for (name, text) in [("a", "5"), ("b", "6"), ("c", "7"), ("a", "8")] {
                try poster.post(name, text, durability: .stored)
            }
            #expect(try await notifyctl.run("durable", "edit", "mine", "--patterns", "a").status == .status(0))
            let old = try await notifyctl.run("subscribe", "a", "b", "--durable", "mine", "-c", "1")
            #expect(old.status == .status(1) && old.errors.contains("other patterns"))
            #expect(try await received(2, "a") == ["5", "8"])
        }

        @Test func `a reset or edit that was answered survives a kill`() async throws {
            #expect(try await notifyctl.run("durable", "reset", "mine", "--to", "oldest").status == .status(0))
            try await daemon.kill()
            try await daemon.start()
            #expect(try await received(5, "a", "b") == ["0", "1", "2", "3", "4"])
            #expect(try await notifyctl.run("durable", "reset", "mine", "--to", "\(sequences[2])").status == .status(0))
            #expect(try await notifyctl.run("durable", "edit", "mine", "--patterns", "b").status == .status(0))
            try await daemon.kill()
            try await daemon.start()
            #expect(try await received(1, "b") == ["3"])
        }

        @Test func `'durable show' has patterns, creation, last attachment and expiry`() async throws {
            let object = try await show()
            #expect(object["patterns"] as? [String] == ["a", "b"] && object["object"] is NSNull)
            #expect(object["cursor"] as? UInt64 == sequences[4])
            #expect(object["pid"] is NSNull && object["in_flight"] as? Int == 0)
            #expect((object["created"] as? String)?.hasSuffix("Z") == true)
            #expect((object["last_attached"] as? String)?.hasSuffix("Z") == true)
            #expect((object["last_attached_pid"] as? Int).map { $0 > 0 } == true)
            #expect(object["expiry_seconds"] is NSNull)
            try poster.subscribe("a", "b", durable: "mine")
            let text = try await notifyctl.run("durable", "show", "mine")
            #expect(text.status == .status(0))
            expectText(text.output, "name           mine\n")
            expectText(text.output, "patterns       a b\n")
            expectText(text.output, "attached       process \(getpid())")
            expectText(text.output, "expires        never\n")
            expectText(text.output, "max deliveries none\n")
            #expect(text.lines.count == 21)
            try await daemon.stop()
            try await daemon.start()
            let again = try await show()
            #expect(again["created"] as? String == object["created"] as? String)
            #expect(again["last_attached_pid"] as? Int == Int(getpid()))
        }

        @Test func `resets of a subscription at the same time all succeed`() async throws {
            let script = """
                for n in 1 2 3 4 5 6 7 8; do notifyctl durable reset mine --to now >/dev/null & pids="$pids $!"; done
                for pid in $pids; do wait $pid || exit 1; done
                """
            let result = try await notifyctl.shell(script)
            #expect(result.status == .status(0), "\(result.errors)")
        }

        @Test func `invalid arguments of 'durable' commands are refused with the reason`() async throws {
            let cases: [(arguments: [String], status: Int32, text: String)] = [
                (["reset", "mine", "--to", "1000"], 64, "sequence 1000 is beyond the end of the log"),
                (["reset", "mine", "--to", "1000"], 64, "sequence \(sequences[4] + 1) "),
                (["reset", "mine", "--to", "25:00"], 64, "no such time of day"), (["reset", "mine"], 64, "--to"),
                (["reset", "other", "--to", "now"], 1, "no durable subscription 'other'"),
                (["reset", "a b", "--to", "now"], 64, "name"), (["show", "other"], 1, "no durable subscription"),
                (["edit", "mine", "--patterns", "a..b"], 64, "empty token"), (["edit", "mine"], 64, "--patterns"),
                (["edit", "other", "--patterns", "a"], 1, "no durable subscription 'other'"),
                (["edit", "mine", "--patterns", "user.root.x"], 64, "write user.0.x"),
            ]
            for (arguments, status, text) in cases {
                let process = try notifyctl.start(["durable"] + arguments)
                #expect(try await process.waitForExit() == .status(status), "\(arguments)")
                let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
                expectText(errors, text)
            }
            #expect(try await show()["cursor"] as? UInt64 == sequences[4])
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `only a manager changes subscriptions of other users`() async throws {
            let launcher = Requirements.asUser(54_321).joined(separator: " ")
            for command in ["show mine", "reset mine --to now", "edit mine --patterns a"] {
                let refused = try await notifyctl.shell("\(launcher) notifyctl durable \(command) --user root")
                #expect(refused.status == .status(77), "\(command)")
            }
            let created = try await notifyctl.shell("\(launcher) notifyctl durable create theirs a")
            #expect(created.status == .status(0), "\(created.errors)")
            let reset = try await notifyctl.run("durable", "reset", "theirs", "--to", "oldest", "--user", "54321")
            #expect(reset.status == .status(0), "\(reset.errors)")
            let edited = try await notifyctl.run(
                "durable", "edit", "theirs", "--user", "54321", "--patterns", "user.54321.x")
            #expect(edited.status == .status(0), "\(edited.errors)")
            let foreign = try await notifyctl.run(
                "durable", "edit", "theirs", "--user", "54321", "--patterns", "user.7.x")
            #expect(foreign.status == .status(77) && foreign.errors.contains("54321"))
        }
    }
}
