import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl bench`.
    @Suite struct NotifyctlBenchTests {
        /// Runs a benchmark and returns its JSON object.
        private func bench(_ daemon: Daemon, _ arguments: String...) async throws -> [String: Any] {
            let process = try Notifyctl(daemon).start(["bench"] + arguments + ["--json"])
            #expect(try await process.waitForExit() == .status(0), "\(process.standardError.current)")
            let text = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        }

        /// Expects plausible figures of all messages, and returns the number of messages.
        private func expectFigures(_ part: Any?, sourceLocation: SourceLocation = #_sourceLocation) throws -> Int {
            let part = try #require(part as? [String: Any], sourceLocation: sourceLocation)
            let latencies = try #require(part["latency_nanoseconds"] as? [String: Int], sourceLocation: sourceLocation)
            let ordered = try ["p50", "p90", "p99", "p999", "max"].map { try #require(latencies[$0]) }
            #expect(ordered == ordered.sorted() && ordered[0] > 0, sourceLocation: sourceLocation)
            let elapsed = try #require(part["nanoseconds"] as? Int)
            #expect(elapsed >= ordered[4], sourceLocation: sourceLocation)
            return try #require(part["messages"] as? Int, sourceLocation: sourceLocation)
        }

        @Test(arguments: ["1", "100"])
        func `'bench post' measures every receipt`(inFlight: String) async throws {
            let daemon = try await Daemon.start()
            let result = try await bench(
                daemon, "post", "--messages", "1001", "--clients", "3", "--in-flight", inFlight)
            #expect(try expectFigures(result["posted"]) == 1_001)
            #expect(result["clients"] as? Int == 3)
            #expect(try RawClient(daemon).statistics()["messages_in"] == 1_001)
            #expect(try RawClient(daemon).statistics()["stored"] == 0)
        }

        @Test func `'bench subscribe' measures every delivery`() async throws {
            let daemon = try await Daemon.start()
            let result = try await bench(
                daemon, "subscribe", "--messages", "500", "--clients", "2", "--subscribers", "4", "--in-flight", "10")
            #expect(try expectFigures(result["posted"]) == 500)
            #expect(try expectFigures(result["received"]) == 2_000)
            #expect((result["received"] as? [String: Any])?["dropped"] as? Int == 0)
        }

        @Test func `messages that the daemon drops are counted`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PER_CONNECTION_OUTBOX_BYTES": "65536"])
            let result = try await bench(daemon, "subscribe", "--messages", "3000", "--size", "60000")
            let received = try expectFigures(result["received"])
            let dropped = try #require((result["received"] as? [String: Any])?["dropped"] as? Int)
            #expect(received + dropped == 3_000)
            #expect(try RawClient(daemon).statistics()["dropped"] == UInt64(dropped))
        }

        @Test func `'bench roundtrip' measures every answer`() async throws {
            let daemon = try await Daemon.start()
            let result = try await bench(daemon, "roundtrip", "--messages", "301", "--pairs", "2", "--size", "16")
            #expect(try expectFigures(result["round_trips"]) == 301)
            #expect(try RawClient(daemon).statistics()["messages_in"] == 602)
        }

        @Test func `'bench durable' measures every delivery and removes its subscriptions`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "mine")
            let result = try await bench(
                daemon, "durable", "--messages", "400", "--subscribers", "3", "--durability", "synced")
            #expect(try expectFigures(result["posted"]) == 400)
            #expect(try expectFigures(result["received"]) == 1_200)
            #expect(try client.list().map(\.durableName) == ["mine"])
            #expect(try client.statistics()["stored"] == 400)
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `an interrupted benchmark removes its durable subscriptions`(signal: Int32) async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let process = try Notifyctl(daemon).start(
                ["bench", "durable", "--messages", "1000000000", "--subscribers", "2"])
            // Every request is a round trip, so the loop does not spin. Messages flow once both subscriptions are open.
            while try client.statistics()["stored"] ?? 0 == 0 { try #require(!process.hasExited) }
            #expect(
                try client.list().map(\.durableName).sorted() == ["bench-\(process.pid)-0", "bench-\(process.pid)-1"])
            process.send(signal)
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
            #expect(errors == "notifyctl: interrupted\n")
            #expect(try client.list() == [])
        }

        @Test func `a refused post ends the benchmark and removes its durable subscriptions`() async throws {
            let daemon = try await Daemon.start()
            for benchmark in ["post", "subscribe", "roundtrip", "durable"] {
                let result = try await Notifyctl(daemon).run("bench", benchmark, "--name", "notifyd.x")
                #expect(result.status == .status(77), "\(benchmark)")
                #expect(result.errors.split(separator: "\n").count == 1, "\(benchmark): \(result.errors)")
                #expect(result.output == "")
            }
            #expect(try RawClient(daemon).list() == [])
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `an ordinary user may run every benchmark`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0666"])
            chmod(daemon.folder.path, 0o755)
            let root = try RawClient(daemon)
            try root.subscribe("user.54321.>")
            for benchmark in ["post", "subscribe", "roundtrip", "durable"] {
                let launcher = Requirements.asUser(54_321)
                let process = try ChildProcess(
                    launcher[0],
                    launcher.dropFirst() + [Programs.notifyctl, "bench", benchmark, "--messages", "10"],
                    environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
                #expect(try await process.waitForExit() == .status(0), "\(process.standardError.current)")
                let lines = try await process.waitForLines(3)
                expectText(String(lines[0]), "10 messages of 128 B under user.54321.bench.")
                expectText(String(lines[1]), " messages/s, ")
                expectText(String(lines[2]), "p50 ")
            }
            #expect(try root.message().stamp.uid == 54_321)
        }
    }
}
