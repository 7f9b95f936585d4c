import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl clients` and `notifyctl subscriptions`.
    @Suite struct NotifyctlListTests {
        @Test func `clients are listed with their process and counts`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 1)
            for _ in 0..<3 { try client.post("a", "x") }
            let objects = try await Notifyctl(daemon).run("clients", "--json").objects
            #expect(objects.count == 2)
            let own = try #require(objects.first)
            #expect(own["client"] as? Int == 1 && own["pid"] as? Int == Int(getpid()))
            #expect(own["uid"] as? Int == Int(getuid()))
            #expect((own["program"] as? String)?.isEmpty == false)
            #expect(own["subscriptions"] as? Int == 1)
            #expect(own["posts"] as? Int == 3 && own["delivered"] as? Int == 3 && own["dropped"] as? Int == 0)
            #expect(objects.last?["program"] as? String == "notifyctl")
            let table = try await Notifyctl(daemon).run("clients")
            #expect(table.lines.first?.hasPrefix("CLIENT") == true && table.lines.count == 3)
            #expect(table.lines.last?.contains(" notifyctl ") == true)
        }

        @Test func `subscriptions are listed with their client and progress`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a.>", "b", as: 1, durable: "mine", object: "o", window: 2)
            try client.subscribe("c", as: 2)
            for _ in 0..<5 { try client.post("b", "x", object: "o") }
            _ = try client.message()
            let objects = try await Notifyctl(daemon).run("subscriptions", "--json").objects
            #expect(objects.map { $0["durable"] as? String } == ["mine", nil])
            let durable = try #require(objects.first)
            #expect(durable["client"] as? Int == 1 && durable["pid"] as? Int == Int(getpid()))
            #expect(durable["unacknowledged"] as? Int == 2 && durable["behind"] as? Int == 3)
            #expect(durable["patterns"] as? [String] == ["a.>", "b"] && durable["object"] as? String == "o")
            #expect(objects.last?["patterns"] as? [String] == ["c"])
            let table = try await Notifyctl(daemon).run("subscriptions")
            #expect(table.lines.count == 3 && table.lines[1].hasSuffix("a.> b"))
        }

        @Test func `watch appends to a pipe until its reader is closed`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["clients", "--watch"])
            let lines = try await process.waitForLines(5)
            #expect(lines[0].contains("POSTS/S") && lines[2] == "" && lines[3].contains("POSTS/S"))
            process.send(SIGTERM)
            _ = try await process.waitForExit()
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `another user's clients and subscriptions are listed only with the right to manage`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0666"])
            chmod(daemon.folder.path, 0o755)
            let root = try RawClient(daemon)
            try root.subscribe("a", as: 1)
            try root.subscribe("b", as: 2, durable: "roots")
            let launcher = Requirements.asUser(54_321).joined(separator: " ")
            let notifyctl = Notifyctl(daemon)
            #expect(try await notifyctl.shell("\(launcher) notifyctl durable create theirs a").status == .status(0))
            let clients = try await notifyctl.shell("\(launcher) notifyctl clients --json").objects
            #expect(clients.map { $0["uid"] as? Int } == [54_321])
            let subscriptions = try await notifyctl.shell("\(launcher) notifyctl subscriptions --json").objects
            #expect(subscriptions.map { $0["durable"] as? String } == ["theirs"])
            #expect(try await notifyctl.run("subscriptions", "--json").objects.count == 3)
        }
    }
}
