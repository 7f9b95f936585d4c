import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl clients`, `subscriptions`, `names`, `monitor` and `trace`.
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
            #expect(durable["in_flight"] as? Int == 2 && durable["behind"] as? Int == 5)
            #expect(durable["patterns"] as? [String] == ["a.>", "b"] && durable["object"] as? String == "o")
            #expect(objects.last?["patterns"] as? [String] == ["c"])
            let table = try await Notifyctl(daemon).run("subscriptions")
            #expect(table.lines.count == 3 && table.lines[1].contains("  a.> b  "))
        }

        /// Posts until a command has printed a line. The command counts only posts that are made after its first
        /// request.
        private func postUntilPrinted(
            _ name: String, _ client: RawClient, by command: ChildProcess
        ) async throws -> [Substring] {
            let deadline = ContinuousClock.now + .seconds(60)
            while command.standardOutput.current.lineCount == 0, ContinuousClock.now < deadline {
                try client.post(name)
            }
            return try await command.waitForLines(1)
        }

        @Test func `names are listed with the posts made while the command counts`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a.>", as: 1)
            let names = try Notifyctl(daemon).start(["names", "--watch", "--interval", "100ms", "--json"])
            let first = try #require(try await postUntilPrinted("a.b", client, by: names).first)
            #expect(first.hasPrefix(#"{"name":"a.b","posts":"#))
            #expect(first.hasSuffix(#""dropped":0,"subscribers":1,"durables":0}"#))
            names.send(SIGTERM)
            _ = try await names.waitForExit()
        }

        @Test func `the first line of a table of names is its title`() async throws {
            let daemon = try await Daemon.start()
            let names = try await Notifyctl(daemon).run("names", "--interval", "100ms")
            #expect(names.output.hasPrefix("NAME"))
        }

        @Test func `a monitor prints posts with their receipt, and refused ones with the reason`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let monitor = try Notifyctl(daemon).start(["monitor", "--json", "a.>", "begin", "notifyd.>"])
            let begun = try await postUntilPrinted("begin", client, by: monitor).count
            try client.post("a.b", "hello", object: "o", durability: .stored)
            #expect(throws: (any Error).self) { try client.post("notifyd.c", "") }
            var lines = try await monitor.waitForLines(begun + 2)
            while lines.last?.contains("notifyd.c") == false { lines = try await monitor.waitForLines(lines.count + 1) }
            let posts = try lines.map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            let stored = try #require(posts.first { $0["name"] as? String == "a.b" })
            #expect(stored["durability"] as? String == "stored" && stored["payload_start"] as? String == "hello")
            #expect(stored["object"] as? String == "o" && stored["pid"] as? Int == Int(getpid()))
            #expect(posts.last?["code"] as? String == "forbidden")
            #expect((posts.last?["reason"] as? String)?.contains("reserved for the daemon") == true)
            monitor.send(SIGTERM)
            #expect(try await monitor.waitForExit() == .status(0))
        }

        @Test func `a trace shows the client that has a message in flight`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 1, durable: "holder")
            try client.post("a", "hello")
            let sequence = try client.message().sequence
            let notifyctl = Notifyctl(daemon)
            let trace = try #require(try await notifyctl.run("trace", "\(sequence)", "--json").objects.first)
            #expect(trace["name"] as? String == "a" && trace["payload_start"] as? String == "hello")
            let subscription = try #require((trace["states"] as? [[String: Any]])?.first)
            #expect(subscription["durable"] as? String == "holder" && subscription["state"] as? String == "inFlight")
            #expect(subscription["pid"] as? Int == Int(getpid()))
            let table = try await notifyctl.run("trace", "\(sequence)")
            #expect(table.lines.count == 3 && table.lines[2].contains("in flight"))
            let unknown = try await notifyctl.run("trace", "\(sequence + 1)")
            #expect(unknown.status == .status(1) && unknown.errors.contains("no stored message has the sequence"))
        }

        @Test func `without a terminal, --watch prints one table after another`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["clients", "--watch"])
            let lines = try await process.waitForLines(5)
            #expect(lines[0].contains("POSTS/S") && lines[2] == "" && lines[3].contains("POSTS/S"))
            process.send(SIGTERM)
            _ = try await process.waitForExit()
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `clients and subscriptions of others are listed only with the right to manage everything`() async throws {
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
