import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The rules of the policy for two users of the machine: for live messages, for stored messages, and after a
    /// reload.
    @Suite(.enabled(if: Requirements.canSwitchUser)) struct PolicyTests {
        /// The expected rights to a name.
        private struct Row {
            let name: String
            let alicePosts: Bool
            let bobPosts: Bool
            let aliceReceives: Bool
            let bobReceives: Bool

            init(_ name: String, alice: (posts: Bool, receives: Bool), bob: (posts: Bool, receives: Bool)) {
                self.name = name
                (alicePosts, aliceReceives) = alice
                (bobPosts, bobReceives) = bob
            }
        }

        private static let alice = OtherUser(1111, group: 5000)
        private static let bob = OtherUser(2222)

        private static let defaults = [
            Row("other", alice: (true, true), bob: (true, true)),
            Row("hr.pay", alice: (true, true), bob: (true, true)),
            Row("user.1111.m", alice: (true, true), bob: (false, false)),
            Row("user.2222.m", alice: (false, false), bob: (true, true)),
            Row("user.0.m", alice: (false, false), bob: (false, false)),
            Row("user.alice", alice: (false, false), bob: (false, false)),
        ]

        private static let rules = """
            policy:
              - {deny: [post, subscribe], names: ["hr.>"]}
              - {allow: [post, subscribe], names: ["hr.>"], gids: [5000]}
              - {deny: [post], names: ["sensor.>"]}
              - {allow: [post], names: ["sensor.$uid.>"]}
              - {deny: [subscribe], names: ["secret.*"]}
              - {allow: [subscribe], names: ["secret.*"], uids: [1111]}
              - {deny: [post, subscribe], names: ["*.private.>"]}
              - {allow: [subscribe], names: ["a.private.>"], uids: [2222]}
              - {deny: [post], names: [">"], uids: [2222]}
              - {allow: [post], names: ["bob.>"], uids: [2222], gids: [1]}
              - {allow: [post], names: [">"], users: [root]}
            """

        private static let own = [
            Row("other", alice: (true, true), bob: (false, true)),
            Row("hr.pay", alice: (true, true), bob: (false, false)),
            Row("sensor.1111.t", alice: (true, true), bob: (false, true)),
            Row("sensor.2222.t", alice: (false, true), bob: (false, true)),
            Row("secret.a", alice: (true, true), bob: (false, false)),
            Row("secret.a.b", alice: (true, true), bob: (false, true)),
            Row("x.private.y", alice: (false, false), bob: (false, false)),
            Row("a.private.y", alice: (false, false), bob: (false, true)),
            Row("bob.b", alice: (true, true), bob: (true, true)),
            Row("user.1111.m", alice: (true, true), bob: (false, false)),
            Row("user.2222.m", alice: (false, false), bob: (false, true)),
        ]

        /// Starts a daemon with a configuration file and a socket that all users may connect to.
        private static func start(_ configuration: String) async throws -> Daemon {
            let folder = try TemporaryFolder()
            let file = try folder.write(configuration, to: "n.yaml")
            let daemon = try await Daemon.start(
                ["--config", file], environment: ["NOTIFYD_SOCKET_MODE": "0666"], folder: folder)
            chmod(folder.path, 0o755)
            return daemon
        }

        /// Returns the names of the messages that the client receives before `bob.end`.
        private static func names(_ client: RawClient) throws -> Set<String> {
            var names: Set<String> = []
            while true {
                let name = try client.message().name
                if name == "bob.end" { return names }
                names.insert(name)
            }
        }

        private static func expectPosts(_ rows: [Row], _ client: RawClient, _ mayPost: (Row) -> Bool) throws {
            for row in rows {
                // The second post finds the decision cached.
                for _ in 0..<2 {
                    if mayPost(row) {
                        try client.post(row.name)
                    } else {
                        expectRefusal(.forbidden) { try client.post(row.name) }
                    }
                }
            }
        }

        /// Posts a message under every name as root, and expects that each user receives exactly the permitted
        /// messages.
        private static func expectDeliveries(
            _ rows: [Row], from root: RawClient, alice: RawClient, bob: RawClient, _ durability: Durability
        ) throws {
            for row in rows { try root.post(row.name, durability: durability) }
            try root.post("bob.end", durability: durability)
            let mayReceive = (
                alice: Set(rows.filter(\.aliceReceives).map(\.name)), bob: Set(rows.filter(\.bobReceives).map(\.name))
            )
            #expect(try names(alice) == mayReceive.alice)
            #expect(try names(bob) == mayReceive.bob)
        }

        @Test(arguments: [false, true])
        func `each rule applies to posts and live messages of two users`(_ hasRules: Bool) async throws {
            let daemon = try await Self.start(hasRules ? Self.rules : "")
            let rows = hasRules ? Self.own : Self.defaults
            let root = try RawClient(daemon)
            let alice = try await Self.alice.connect(to: daemon).client
            let bob = try await Self.bob.connect(to: daemon).client
            for client in [alice, bob] { try client.greet() }
            try Self.expectPosts(rows, alice) { $0.alicePosts }
            try Self.expectPosts(rows, bob) { $0.bobPosts }
            for client in [alice, bob] {
                try client.subscribe(">")
                expectRefusal(.forbidden) { try client.subscribe("notifyd.limits.>", as: 2) }
            }
            for durability in [Durability.volatile, .stored] {
                try Self.expectDeliveries(rows, from: root, alice: alice, bob: bob, durability)
            }
        }

        @Test func `rules apply to stored messages, and a reload applies to undelivered messages`() async throws {
            let daemon = try await Self.start(Self.rules)
            let root = try RawClient(daemon)
            let alice = try await Self.alice.connect(to: daemon).client
            let bob = try await Self.bob.connect(to: daemon).client
            for client in [alice, bob] {
                try client.greet()
                try client.subscribe(">", durable: "first")
                try client.subscribe(">", as: 2, durable: "second")
                try client.detach(1)
                try client.detach(2)
            }
            let names = Self.own.map(\.name) + ["bob.end"]
            for name in names { try root.post(name, durability: .stored) }
            for client in [alice, bob] { try client.subscribe(">", durable: "first") }
            #expect(try Self.names(alice) == Set(Self.own.filter(\.aliceReceives).map(\.name)))
            #expect(try Self.names(bob) == Set(Self.own.filter(\.bobReceives).map(\.name)))

            _ = try daemon.folder.write("", to: "n.yaml")
            let reloaded = try await Notifyctl(daemon).run("reload")
            #expect(reloaded.status == .status(0) && reloaded.output == "reloaded\n")
            for client in [alice, bob] { try client.subscribe(">", as: 2, durable: "second") }
            #expect(try Self.names(alice) == Set(names).subtracting(["user.2222.m", "bob.end"]))
            #expect(try Self.names(bob) == Set(names).subtracting(["user.1111.m", "bob.end"]))
            try Self.expectPosts(Self.defaults, alice) { $0.alicePosts }
        }

        @Test func `each client of a durable subscription gets only what its own groups may receive`() async throws {
            let daemon = try await Self.start(Self.rules)
            let root = try RawClient(daemon)
            let alice = try await Self.alice.connect(to: daemon).client
            let other = try await OtherUser(1111).connect(to: daemon).client
            for client in [alice, other] { try client.greet() }
            try alice.subscribe(">", durable: "shared")
            try alice.detach(1)
            for name in ["hr.pay", "other", "hr.raise"] { try root.post(name, durability: .stored) }
            try other.subscribe(">", durable: "shared")
            let message = try other.message()
            #expect(message.name == "other")
            try other.acknowledge(1, (message.sequence, message.sequence))
            try other.detach(1)
            let shown = try await Notifyctl(daemon).run("durable", "show", "shared", "--user", "1111")
            expectText(shown.output, "withheld       2\n")
            try alice.subscribe(">", durable: "shared")
            #expect(Set([try alice.message().name, try alice.message().name]) == ["hr.pay", "hr.raise"])
        }

        @Test(arguments: [false, true])
        func `a reload grants and withdraws rights of both users`(_ hasRules: Bool) async throws {
            let (before, after) = hasRules ? (Self.defaults, Self.own) : (Self.own, Self.defaults)
            let daemon = try await Self.start(hasRules ? "" : Self.rules)
            let root = try RawClient(daemon)
            let alice = try await Self.alice.connect(to: daemon).client
            let bob = try await Self.bob.connect(to: daemon).client
            for client in [alice, bob] {
                try client.greet()
                try client.subscribe(">", durable: "kept")
                try client.detach(1)
                try client.subscribe(">", as: 2)
            }
            for name in Set((before + after).map(\.name)).sorted() + ["bob.end"] {
                try root.post(name, durability: .stored)
            }
            func expectNames(_ rows: [Row]) throws {
                let known = Set(rows.map(\.name))
                let (toAlice, toBob) = (rows.filter(\.aliceReceives), rows.filter(\.bobReceives))
                #expect(try Self.names(alice).intersection(known) == Set(toAlice.map(\.name)))
                #expect(try Self.names(bob).intersection(known) == Set(toBob.map(\.name)))
            }
            try expectNames(before)
            _ = try daemon.folder.write(hasRules ? Self.rules : "", to: "n.yaml")
            #expect(try await Notifyctl(daemon).run("reload").status == .status(0))
            for client in [alice, bob] { try client.subscribe(">", as: 3, durable: "kept") }
            try expectNames(after)
            for client in [alice, bob] { try client.detach(3) }
            try Self.expectDeliveries(after, from: root, alice: alice, bob: bob, .volatile)
            try Self.expectPosts(after, alice) { $0.alicePosts }
            try Self.expectPosts(after, bob) { $0.bobPosts }
        }

        @Test func `an invalid file is not reloaded and the previous rules remain`() async throws {
            let daemon = try await Self.start(Self.rules)
            let bob = try await Self.bob.connect(to: daemon).client
            try bob.greet()
            expectRefusal(.forbidden) { try bob.post("other") }
            let file = try daemon.folder.write("policy:\n  - {allow: [post], names: [a..b]}\n", to: "n.yaml")
            let reloaded = try await Notifyctl(daemon).run("reload")
            #expect(reloaded.status == .status(78))
            expectText(reloaded.errors, "\(file):2: policy.names: expected a name or a pattern")
            expectRefusal(.forbidden) { try bob.post("other") }
        }

        @Test func `'reload' lists the settings that wait for the next start`() async throws {
            let daemon = try await Self.start("")
            _ = try daemon.folder.write("limits: {payload_bytes: 5, connections: 500}", to: "n.yaml")
            let reloaded = try await Notifyctl(daemon).run("reload")
            #expect(reloaded.output == "reloaded\nat the next start: limits.payload_bytes\n")
            let limits = try await Notifyctl(daemon).run("stats", "--limits")
            expectText(limits.output, "500")
        }

        @Test func `'policy test' prints the rule that decides`() async throws {
            let daemon = try await Self.start(Self.rules)
            let file = daemon.folder.file("n.yaml")
            let notifyctl = Notifyctl(daemon)
            let denied = try await notifyctl.run("policy", "test", "--user", "2222", "subscribe", "hr.pay")
            #expect(denied.status == .status(77))
            #expect(denied.output == "denied: deny: [post, subscribe] names: [hr.>] (\(file):2)\n")
            let allowed = try await notifyctl.run("policy", "test", "post", "hr.pay")
            #expect(allowed.status == .status(0))
            #expect(allowed.output == "allowed: allow: [post] names: [>] uids: [0] (\(file):12)\n")
            let partly = try await notifyctl.run("policy", "test", "--user", "2222", "subscribe", ">")
            #expect(partly.status == .status(0))
            expectText(partly.output, "allowed: some of these names are denied by deny: [")
            expectText(partly.output, "(\(file):")
            let manage = try await notifyctl.run("policy", "test", "--user", "2222", "manage", ">")
            #expect(manage.output == "denied: no rule matches\n")
            let mistake = try await notifyctl.run("policy", "test", "read", "a")
            #expect(mistake.status == .status(64))
            expectText(mistake.errors, "expected one of post, subscribe, manage")
        }

        @Test func `--check-config reports whether the configuration is valid`() async throws {
            let folder = try TemporaryFolder()
            for (text, status, message) in [
                (Self.rules, Int32(0), "rules of the policy besides the default ones: 11"),
                ("policy: [{allow: [post]}]", 1, "n.yaml:1: policy: expected a key \"names\""),
            ] {
                let file = try folder.write(text, to: "n.yaml")
                let process = try ChildProcess(
                    Programs.notifyd, ["--config", file, "--check-config"], environment: Daemon.clean)
                #expect(try await process.waitForExit() == .status(status))
                let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
                let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
                expectText(output.text + errors.text, message)
            }
        }
    }
}
