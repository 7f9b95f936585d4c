import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl durable`, and durable subscriptions created by `notifyctl subscribe`.
    @Suite struct NotifyctlDurableTests: CommandSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp(admitsOthers: true) }

        /// Returns the first message that the next subscriber of a durable name prints.
        private func first(_ name: String, _ patterns: String...) async throws -> [String: Any] {
            let process = try notifyctl.start(["subscribe"] + patterns + ["--durable", name, "-c", "1", "--json"])
            #expect(try await process.waitForExit() == .status(0))
            let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            return try #require(Notifyctl.Result(status: .status(0), output: output, errors: "").objects.first)
        }

        @Test func `a new durable subscription keeps messages posted after its creation`() async throws {
            try poster.post("a.b", "old", durability: .stored)
            let created = try await notifyctl.run("durable", "create", "mine", "a.*", "c", "--object", "o")
            #expect(created.status == .status(0) && created.output == "created mine\n" && created.errors == "")
            let entry = try #require(try poster.list().first)
            #expect(entry.durableName == "mine" && entry.patterns == ["a.*", "c"] && entry.object == "o")
            #expect(entry.pid == 0)
            expectText(try await notifyctl.run("durable", "show", "mine").output, "last attached  never\n")

            try poster.post("a.b", "another's", object: "p")
            #expect(try poster.post("a.b", "new", object: "o").stored == 1)
            let result = try await notifyctl.run(
                "subscribe", "a.*", "c", "--durable", "mine", "--object", "o", "-c", "1")
            #expect(result.output == "new\n")
        }

        @Test func `a subscription created from the oldest message gets all messages as new`() async throws {
            for number in 1...3 { try poster.post("a", "\(number)", durability: .stored) }
            let created = try await notifyctl.run("durable", "create", "mine", "a", "--from", "oldest")
            #expect(created.output == "created mine\n")
            let message = try await first("mine", "a")
            #expect(message["payload"] as? String == "1")
            #expect(message["redelivered"] as? Bool == false)
        }

        @Test func `'durable create' refuses other settings than an existing subscription has`() async throws {
            let arguments = ["durable", "create", "mine", "a", "--group"]
            for (options, status, text) in [
                (["--max-deliveries", "3"], 0, "created mine\n"), (["--max-deliveries", "3"], 0, "exists mine\n"),
                ([], 0, "exists mine\n"), (["--max-deliveries", "4"], 1, ""), (["--retry-after", "5s"], 1, ""),
                (["--deadline", "30s", "--in-flight", "0"], 0, "exists mine\n"), (["--deadline", "31s"], 1, ""),
                (["--in-flight", "7"], 1, ""),
            ] as [([String], Int32, String)] {
                let process = try notifyctl.start(arguments + options)
                #expect(try await process.waitForExit() == .status(status), "\(options)")
                let output = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
                #expect(output == text)
                let errors = try await process.standardError.wait("the end") { $0.isAtEnd ? $0.text : nil }
                #expect(errors.contains("'notifyctl durable set'") == (status == 1), "\(errors)")
            }
        }

        @Test func `'durable create' accepts an equal subscription and refuses a different one`() async throws {
            for expected in ["created mine\n", "exists mine\n"] {
                let result = try await notifyctl.run("durable", "create", "mine", "a", "b")
                #expect(result.status == .status(0) && result.output == expected)
            }
            let other = try await notifyctl.run("durable", "create", "mine", "a")
            #expect(other.status == .status(1) && other.errors.contains("patterns"))
            let object = try await notifyctl.run("durable", "create", "mine", "a", "b", "--object", "o")
            #expect(object.status == .status(1))
            let group = try await notifyctl.run("durable", "create", "mine", "a", "b", "--group")
            #expect(group.status == .status(1) && group.errors.contains("omit --group"))
            let start = try await notifyctl.run("durable", "create", "mine", "a", "b", "--from", "oldest")
            #expect(start.status == .status(0) && start.output == "exists mine\n")
            expectText(start.errors, "not at --from; to move it, use 'notifyctl durable reset'")
            let holder = try RawClient(daemon)
            try holder.subscribe("a", "b", durable: "mine")
            #expect(try await notifyctl.run("durable", "create", "mine", "b", "a").output == "exists mine\n")
            #expect(try await notifyctl.run("durable", "create", "a b", "a").status == .status(64))
            #expect(try await notifyctl.run("durable", "create", "d", "a..b").status == .status(64))
        }

        @Test func `commands that create a subscription together, and its first consumer, all succeed`() async throws {
            for round in 0..<10 {
                let creating = try (0..<2).map { _ in try notifyctl.start(["durable", "create", "d\(round)", "a"]) }
                let consuming = try notifyctl.start(
                    ["subscribe", "a", "--durable", "d\(round)", "--count", "1", "--timeout", "60s"])
                var outputs: [String] = []
                for process in creating {
                    #expect(try await process.waitForExit() == .status(0))
                    outputs.append(try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil })
                }
                let allowed = ["created d\(round)\n", "exists d\(round)\n"]
                #expect(outputs.allSatisfy { allowed.contains($0) } && Set(outputs) != [allowed[0]], "\(outputs)")
                // Until the consumer has attached, the message waits for it.
                try poster.post("a", "now", durability: .stored)
                #expect(try await consuming.waitForExit() == .status(0))
            }
        }

        @Test func `'durable remove' names the holders, and ends their subscriptions with --force`() async throws {
            let holder = try RawClient(daemon)
            try holder.subscribe("a", durable: "mine")
            let refused = try await notifyctl.run("durable", "remove", "mine")
            #expect(refused.status == .status(1))
            expectText(
                refused.errors,
                "is held by process \(getpid()): end it first, or use 'notifyctl durable remove mine --force'")
            let removed = try await notifyctl.run("durable", "remove", "mine", "--force")
            #expect(removed.status == .status(0) && removed.output == "removed mine\n", "\(removed.errors)")
            #expect(try poster.list().isEmpty)
        }

        /// Lists the durable subscriptions once the daemon has counted their messages.
        private func counted() async throws -> [[String: Any]] {
            while true {
                let result = try await notifyctl.run("durable", "list", "--json")
                try #require(result.status == .status(0), "\(result.errors)")
                let objects = try result.objects
                if objects.allSatisfy({ $0["pending_messages"] is Int }) { return objects }
            }
        }

        @Test(.timeLimit(.minutes(25)))
        func `'durable list' shows how many messages each subscription is behind`() async throws {
            for (name, pattern) in [("all", ">"), ("some", "a.*")] {
                #expect(try await notifyctl.run("durable", "create", name, pattern).status == .status(0))
            }
            for name in ["a.b", "a.c", "d"] { try poster.post(name, "12345", durability: .stored) }
            let result = try await notifyctl.run("subscribe", "a.*", "--durable", "some", "-c", "1")
            #expect(result.status == .status(0))
            let listed = try await counted()
            let (all, some) = (try #require(listed.first), try #require(listed.last))
            #expect(all["durable"] as? String == "all" && some["durable"] as? String == "some")
            #expect(all["pending_messages"] as? Int == 3 && some["pending_messages"] as? Int == 1)
            #expect(all["pending_bytes"] as? Int == 3 * 49 + 7 && some["pending_bytes"] as? Int == 52)
            #expect((all["oldest_pending_seconds"] as? Int).map { $0 < 60 } == true)
            #expect(all["in_flight"] as? Int == 0 && all["lost_messages"] as? Int == 0)
            let table = try await notifyctl.run("durable", "list")
            #expect(table.lines.first?.hasPrefix("DURABLE  USER") == true)
            #expect(table.lines.count == 3)
            #expect(table.lines.last?.hasPrefix("some") == true && table.lines.last?.contains("  a.*  ") == true)
        }

        @Test(arguments: ["0", "1ms"])
        func `'subscribe' with a timeout of 0 or 1 ms creates the durable subscription`(timeout: String) async throws {
            let result = try await notifyctl.run("subscribe", "a", "--durable", "mine", "--timeout", timeout)
            #expect(result.status == .status(124), "\(result.errors)")
            #expect(try poster.list().map(\.durableName) == ["mine"])
            #expect(try poster.post("a", "kept").stored == 1)
            #expect(try await first("mine", "a")["payload"] as? String == "kept")
        }

        @Test func `'subscribe' with a zero timeout does not fail if another client is attached`() async throws {
            try poster.subscribe("a", durable: "mine")
            let result = try await notifyctl.run("subscribe", "a", "--durable", "mine", "--timeout", "0")
            #expect(result.status == .status(124), "\(result.errors)")
            try poster.post("a", "held")
            #expect(try poster.message().payload == Array("held".utf8), "the holder still has it")
        }

        @Test func `'subscribe' with a zero timeout delivers no messages`() async throws {
            try poster.post("a", "1", durability: .stored)
            let result = try await notifyctl.run(
                "subscribe", "a", "--durable", "mine", "--from", "oldest", "--timeout", "0")
            #expect(result.status == .status(124) && result.output == "")
            let message = try await first("mine", "a")
            #expect(message["payload"] as? String == "1")
            #expect(message["redelivered"] as? Bool == false)
        }

        @Test func `'subscribe' with a zero timeout ends if the daemon does not answer`() async throws {
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            let result = try await notifyctl.impatient.run("subscribe", "a", "--durable", "mine", "--timeout", "0")
            #expect(result.status == .status(124))
            #expect(result.errors.contains("not confirmed"))
            daemon.process.send(SIGCONT)
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `only root removes durable subscriptions of other users`() async throws {
            let launcher = Requirements.asUser(54_321).joined(separator: " ")
            #expect(try await notifyctl.run("durable", "create", "roots", "a").status == .status(0))
            let created = try await notifyctl.shell("\(launcher) notifyctl durable create theirs a")
            #expect(created.status == .status(0), "\(created.errors)")
            let refused = try await notifyctl.shell("\(launcher) notifyctl durable remove roots --user root")
            #expect(refused.status == .status(77))
            #expect(try await notifyctl.run("durable", "remove", "theirs").status == .status(1))
            let removed = try await notifyctl.run("durable", "remove", "theirs", "--user", "54321")
            #expect(removed.status == .status(0) && removed.output == "removed theirs\n")
            #expect(try await notifyctl.run("durable", "remove", "roots", "--user", "root").status == .status(0))
            #expect(try poster.list().isEmpty)
        }

        @Test func `names with a user name are refused with the uid to write`() async throws {
            let commands = [
                ["post", "user.root.x", "y"], ["subscribe", "a", "user.root.x"],
                ["durable", "create", "d", "user.root.x"],
            ]
            for arguments in commands {
                let process = try notifyctl.start(arguments)
                #expect(try await process.waitForExit() == .status(64))
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
                #expect(errors.lines.count == 1)
                expectText(errors.text, "write user.0.x")
                expectText(errors.text, "notifyctl \(arguments[0])")
            }
        }
    }
}
