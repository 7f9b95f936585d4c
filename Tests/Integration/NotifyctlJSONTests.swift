import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The JSON of every command except `stats`, whose keys are the names of counters: the same thing has the same key
    /// everywhere.
    @Suite struct NotifyctlJSONTests {
        private enum Kind {
            case text, number, flag, list, object
        }

        /// Every key, except the keys of headers.
        private static let keys: [String: Kind] = [
            // Messages and dead letters.
            "name": .text, "object": .text, "sequence": .number, "time": .text, "headers": .object, "payload": .text,
            "payload_base64": .text, "payload_bytes": .number, "payload_start": .text, "payload_start_base64": .text,
            "redelivered": .flag, "original_sequence": .number, "original_time": .text,
            // Processes and users.
            "uid": .number, "gid": .number, "user": .text, "pid": .number, "program": .text, "client": .number,
            "connected": .text,
            // Receipts and refusals of posts.
            "durability": .text, "subscribers": .number, "durables": .number, "code": .text, "reason": .text,
            "skipped": .number, "state": .text, "states": .list, "dead_letter": .number, "may_have_been_seen": .flag,
            // Durable subscriptions.
            "kind": .text, "durable": .text, "patterns": .list, "concurrency": .number, "sharing": .text,
            "members": .number, "cursor": .number, "behind": .number, "behind_is_upper_bound": .flag,
            "acknowledged": .number, "in_flight": .number,
            "waiting": .number, "withheld": .number, "dead_letters_need_room": .flag,
            "pending_messages": .number, "pending_is_upper_bound": .flag, "pending_bytes": .number,
            "oldest_pending_seconds": .number, "lost_messages": .number, "lost_is_upper_bound": .flag,
            "deliveries": .number, "failures": .number, "last_failure": .object, "next_delivery": .text,
            "deadline_milliseconds": .number, "retry_delays_milliseconds": .list,
            "maximum_deliveries": .number, "maximum_in_flight": .number, "created": .text, "last_attached": .text,
            "last_attached_pid": .number, "expiry_seconds": .number, "unused_seconds": .number,
            // Counts.
            "messages": .number, "bytes": .number, "posts": .number, "delivered": .number, "dropped": .number,
            "dropped_by_client": .number, "refused": .number, "waiting_bytes": .number, "subscriptions": .number,
            "first_sequence": .number, "first_time": .text, "last_sequence": .number, "last_time": .text,
            // The log's damage.
            "sound": .flag, "full": .flag, "sound_messages": .number, "sound_names": .number, "sound_segments": .number,
            "sound_subscriptions": .number, "damaged_messages": .number, "damaged_sequences": .list,
            "problem_count": .number, "problems": .list, "part": .text, "text": .text,
            // Benchmarks.
            "benchmark": .text, "clients": .number, "pairs": .number, "posted": .object, "received": .object,
            "round_trips": .object, "nanoseconds": .number, "messages_per_second": .number, "bytes_per_second": .number,
            "latency_nanoseconds": .object, "p50": .number, "p90": .number, "p99": .number, "p999": .number,
            "max": .number,
        ]

        private static let commands: [[String]] = [
            ["post", "a.b", "text", "--json"],
            ["post", "a.b", "--lines", "--file", "/etc/hostname", "--durability", "stored", "--json"],
            ["subscribe", "a.>", "--from", "oldest", "--count", "3", "--json"],
            ["wait", "a.>", "--from", "oldest", "--json"],
            ["log", "--json"], ["log", "--summary", "--limit", "1", "--json"],
            ["durable", "list", "--json"], ["durable", "show", "held", "--json"],
            ["durable", "show", "group", "--json"], ["durable", "show", "failing", "--json"],
            ["subscriptions", "--json"], ["clients", "--json"], ["dead", "list", "--json"], ["dead", "show", "--json"],
            ["check", "--json"], ["check", "--full", "--json"],
            ["bench", "post", "--messages", "10", "--json"], ["bench", "subscribe", "--messages", "10", "--json"],
            ["bench", "durable", "--messages", "10", "--json"], ["bench", "roundtrip", "--messages", "10", "--json"],
        ]

        @Test func `every command uses the same keys for the same things`() async throws {
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            let client = try RawClient(daemon)
            try client.subscribe("a.>", as: 1, durable: "held")
            #expect(try await notifyctl.run("durable", "create", "group", "a.>", "--group").status == .status(0))
            let monitor = try notifyctl.start(["monitor", "a.>", "notifyd.>", "--json"])
            let names = try notifyctl.start(["names", "--watch", "--interval", "100ms", "--json"])
            var (monitored, named): ([Substring], [Substring]) = ([], [])
            while monitored.isEmpty || named.isEmpty {
                try client.post("a.c", "text", durability: .stored)
                monitored = monitor.standardOutput.current.lines
                named = names.standardOutput.current.lines
            }
            #expect(throws: (any Error).self) { try client.post("notifyd.c", "") }
            monitored += try await monitor.standardOutput.wait("the refusal") { output in
                output.lines.filter { $0.contains("notifyd.c") }.isEmpty ? nil : output.lines
            }
            let worker = try notifyctl.start(
                ["work", "a.>", "--durable", "failing", "--from", "oldest", "--", "sh", "-c", "exit 65"])
            var letters: [[String: Any]] = []
            while letters.isEmpty { letters = try await notifyctl.run("dead", "list", "--json").objects }
            worker.send(SIGTERM)
            try await worker.waitForExit()

            for lines in [monitored, named] {
                for line in lines {
                    check(try JSONSerialization.jsonObject(with: Data(line.utf8)), "\(line)")
                }
            }
            var commands = Self.commands
            commands.append(["trace", "\(try #require(letters[0]["original_sequence"] as? Int))", "--json"])
            for command in commands {
                let result = try await notifyctl.run(command)
                #expect(result.status == .status(0), "\(command): \(result.errors)")
                let objects = try result.objects
                #expect(!objects.isEmpty, "\(command)")
                for object in objects { check(object, command.joined(separator: " ")) }
            }
            for process in [monitor, names] {
                process.send(SIGTERM)
                try await process.waitForExit()
            }
        }

        private func check(_ value: Any, _ command: String) {
            if let list = value as? [Any] { for element in list { check(element, command) } }
            guard let object = value as? [String: Any] else { return }
            for (key, value) in object {
                guard let kind = Self.keys[key] else {
                    Issue.record("\(command): the key '\(key)' is not in the set")
                    continue
                }
                #expect(value is NSNull || Self.kind(of: value) == kind, "\(command): '\(key)' is \(value)")
                if key != "headers" { check(value, command) }
            }
        }

        private static func kind(of value: Any) -> Kind? {
            switch value {
            case is String: .text
            case let number as NSNumber: String(cString: number.objCType) == "c" ? .flag : .number
            case is [Any]: .list
            case is [String: Any]: .object
            default: nil
            }
        }
    }
}
