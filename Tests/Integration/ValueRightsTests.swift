import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The rights of two users of the machine to each other's values, and to serve each other's names.
    @Suite(.enabled(if: Requirements.canSwitchUser)) struct ValueRightsTests {
        private static let alice: UInt32 = 54_321
        private static let bob: UInt32 = 54_322
        private static let own = "user.\(alice).a"

        private let daemon: Daemon
        private let notifyctl: Notifyctl

        init() async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write("", to: "n.yaml")
            daemon = try await Daemon.start(
                ["--config", file], environment: ["NOTIFYD_SOCKET_MODE": "0666"], folder: folder)
            chmod(folder.path, 0o755)
            notifyctl = Notifyctl(daemon)
        }

        /// Runs notifyctl as another user.
        private func run(as uid: UInt32, _ arguments: String) async throws -> Notifyctl.Result {
            try await notifyctl.shell("\(Requirements.asUser(uid).joined(separator: " ")) notifyctl \(arguments)")
        }

        /// Starts notifyctl as another user.
        private func start(as uid: UInt32, _ arguments: String...) throws -> ChildProcess {
            let launcher = Requirements.asUser(uid)
            return try ChildProcess(
                launcher[0], Array(launcher.dropFirst()) + [Programs.notifyctl] + arguments,
                environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
        }

        private func reload(_ policy: String) async throws {
            _ = try daemon.folder.write(policy, to: "n.yaml")
            #expect(try await notifyctl.run("reload").status == .status(0))
        }

        @Test func `a user may not set, read, watch or clear the values of another user's names`() async throws {
            #expect(try await run(as: Self.alice, "post \(Self.own) secret --retain").status == .status(0))
            for command in [
                "post \(Self.own) forged --retain", "post \(Self.own) forged --retain --if-sequence 1",
                "get \(Self.own)", "subscribe --retained \(Self.own) --timeout 0", "clear \(Self.own)",
                "clear \(Self.own) --object ''", "clear \(Self.own) --if-sequence 1", "clear 'user.*.a'",
                "clear user.\(Self.alice).none", "clear user.\(Self.alice).none --object ''",
                "clear user.\(Self.alice).none --if-sequence 0",
            ] {
                let result = try await run(as: Self.bob, command)
                #expect(result.status == .status(77), "\(command): \(result.output)\(result.errors)")
                #expect(!result.output.contains("secret") && !result.errors.contains("secret"))
                #expect(!result.output.contains("cleared"))
            }
            // A pattern that matches more names selects only those that the user may receive.
            _ = try await run(as: Self.bob, "post user.\(Self.bob).a mine --retain")
            #expect(try await run(as: Self.bob, "get 'user.>' --format '{payload}'").output == "mine\n")
            let watch = try await run(as: Self.bob, "subscribe --retained 'user.>' --timeout 0")
            #expect(watch.output == "user.\(Self.bob).a mine\n")
            #expect(try await run(as: Self.alice, "get \(Self.own)").output == "secret\n")
            #expect(try await notifyctl.run("get", Self.own).output == "secret\n", "root may receive every name")
            #expect(try await run(as: Self.alice, "clear user.\(Self.alice).none").output == "cleared 0 values\n")
        }

        @Test func `a value under an open name belongs to the user who has set it last`() async throws {
            #expect(try await run(as: Self.alice, "post board 1 --retain").status == .status(0))
            #expect(try await run(as: Self.bob, "get board").output == "1\n")
            let set = try await run(as: Self.bob, "post board 2 --retain --if-sequence 1")
            #expect(set.status == .status(0), "\(set.errors)")
            let value = try await run(as: Self.alice, "get board --json").objects[0]
            #expect(value["uid"] as? Int == Int(Self.bob))
            let watch = try start(as: Self.bob, "subscribe", "--retained", "board", "--count", "2")
            #expect(try await watch.waitForLines(1) == ["board 2"])
            #expect(try await run(as: Self.alice, "clear board").output == "cleared 1 value\n")
            #expect(try await watch.waitForExit() == .status(0))
            #expect(watch.standardOutput.current.text == "board 2\nboard cleared\n")
        }

        @Test func `a reload withdraws and grants rights to values, also of a watch that waits`() async throws {
            let watch = try start(as: Self.bob, "subscribe", "--retained", ">", "--count", "5")
            for payload in ["1", "2"] {
                #expect(try await run(as: Self.alice, "post plan \(payload) --retain").status == .status(0))
                if payload == "1" {
                    _ = try await watch.waitForLines(1)
                    try await reload("policy:\n  - {deny: [post, subscribe], names: [plan], uids: [\(Self.bob)]}\n")
                }
            }
            for command in ["get plan", "clear plan", "post plan 3 --retain"] {
                #expect(try await run(as: Self.bob, command).status == .status(77), "\(command)")
            }
            #expect(try await run(as: Self.bob, "get '>'").status == .status(1))
            #expect(try await run(as: Self.alice, "post other 3 --retain").status == .status(0))
            #expect(try await watch.waitForLines(2) == ["plan 1", "other 3"])
            try await reload("")
            #expect(try await run(as: Self.bob, "get plan").output == "2\n")
            #expect(try await watch.waitForLines(4).suffix(2) == ["plan 2", "other 3"], "all values are read again")
            #expect(try await run(as: Self.alice, "post plan 4 --retain").status == .status(0))
            #expect(try await watch.waitForExit() == .status(0))
            #expect(watch.standardOutput.current.text == "plan 1\nother 3\nplan 2\nother 3\nplan 4\n")
        }

        @Test func `a user may not announce values of another user's names`() async throws {
            let watch = try start(as: Self.alice, "subscribe", "--retained", Self.own, "--count", "2")
            for options in ["", "--takeover", "--will gone"] {
                let command = "announce \(Self.own) forged \(options) -- echo started"
                let refused = try await run(as: Self.bob, command)
                #expect(refused.status == .status(77) && refused.output.isEmpty, "\(options): \(refused.errors)")
            }
            let holder = try start(as: Self.alice, "announce", Self.own, "mine")
            #expect(try await watch.waitForLines(1) == ["\(Self.own) mine"])
            let taken = try await run(as: Self.bob, "announce \(Self.own) forged --takeover -- echo started")
            #expect(taken.status == .status(77) && taken.output.isEmpty, "\(taken.errors)")
            holder.send(SIGTERM)
            #expect(try await watch.waitForExit() == .status(0))
            #expect(!watch.standardOutput.current.text.contains("forged"))
        }

        @Test func `a user with the right to manage everything takes an announced value over`() async throws {
            let holder = try start(as: Self.alice, "announce", "board", "first")
            _ = try await holder.waitForLines(1)
            let command = "announce board second --takeover -- echo started"
            let refused = try await run(as: Self.bob, command)
            #expect(refused.status == .status(75) && refused.output.isEmpty, "\(refused.errors)")
            try await reload("policy:\n  - {allow: [manage], names: [\">\"], uids: [\(Self.bob)]}\n")
            #expect(try await run(as: Self.bob, command).output == "started\n")
            #expect(try await holder.waitForExit() == .status(1), "the value was taken over")
        }

        @Test func `only users that may receive the notices learn of clients`() async throws {
            let rule = "{allow: [subscribe], names: [\"notifyd.clients.>\"], uids: [\(Self.bob)]}"
            try await reload("presence: true\npolicy:\n  - \(rule)\n")
            let refused = try await run(as: Self.alice, "subscribe 'notifyd.clients.>' --timeout 1")
            #expect(refused.status == .status(77), "\(refused.errors)")
            let watcher = try start(as: Self.bob, "subscribe", "notifyd.clients.>", "--format", "{name}")
            try daemon.waitForSubscriptions(1)
            #expect(try await run(as: Self.alice, "ping").status == .status(0))
            let name = "notifyd.clients.\(Self.alice).connected"
            _ = try await watcher.standardOutput.wait("the notice") { $0.lines.contains { $0 == name } ? true : nil }
        }

        @Test func `a user serves another user's names only with the right 'serve'`() async throws {
            for name in [Self.own, "user.\(Self.alice).>", "user.>", "billing.total", ">"] {
                let refused = try await run(as: Self.bob, "serve '\(name)' -- cat")
                #expect(refused.status == .status(77), "\(name): \(refused.errors)")
                expectText(refused.errors, "may not serve '\(name)'")
            }
            let rules = """
                policy:
                  - {allow: [serve], names: ["billing.>", "user.\(Self.alice).>"], uids: [\(Self.bob)]}

                """
            try await reload(rules)
            #expect(try await run(as: Self.alice, "serve billing.total -- cat").status == .status(77))
            #expect(try await run(as: Self.bob, "serve '>' -- cat").status == .status(77))
            let server = try start(
                as: Self.bob, "serve", "billing.>", Self.own, "--", "sh", "-c", "echo $NOTIFY_NAME $NOTIFY_UID")
            try daemon.waitForServers(1)
            for name in ["billing.total", Self.own] {
                let reply = try await run(as: Self.alice, "request \(name) --json").objects[0]
                #expect(reply["payload"] as? String == "\(name) \(Self.alice)\n")
                #expect(reply["uid"] as? Int == Int(Self.bob), "the reply says who has served")
            }
            // Bob may serve the name, but not ask for it.
            #expect(try await run(as: Self.bob, "request \(Self.own)").status == .status(77))
            // Alice gets the right, too, but Bob's server holds a name that overlaps.
            try await reload(rules + "  - {allow: [serve], names: [billing.total], uids: [\(Self.alice)]}\n")
            let held = try await run(as: Self.alice, "serve billing.total -- cat")
            #expect(held.status == .status(75), "\(held.errors)")
            server.send(SIGTERM)
            #expect(try await server.waitForExit() == .status(0))
            let next = try start(as: Self.alice, "serve", "billing.total", "--", "cat")
            try daemon.waitForServers(1)
            next.send(SIGTERM)
            #expect(try await next.waitForExit() == .status(0))
        }
    }
}
