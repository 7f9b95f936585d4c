import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Durable subscriptions that begin at a sequence, an age or a time.
    @Suite struct DurableStartTests {
        private static let count = 20
        private static let middle = 10

        private let daemon: Daemon
        private let client: RawClient
        private let notifyctl: Notifyctl
        /// The messages "0" to "19" in the log.
        private let messages: [ReceivedMessage]

        init() async throws {
            daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            self.client = client
            notifyctl = Notifyctl(daemon)
            for number in 0..<Self.count {
                // Uses up a sequence, so that the sequences in the log have holes.
                try client.post("a", durability: .volatile)
                try client.post("a", "\(number)", durability: .stored)
            }
            try client.subscribe("a", durable: "all", from: .oldest)
            messages = try (0..<Self.count).map { _ in try client.message() }
            try client.detach()
        }

        /// Posts a last message, and returns the numbers of the messages before it that a subscription gets.
        private func received(_ names: String...) throws -> [[Int]] {
            try client.post("a", "end", durability: .stored)
            return try names.map { name in
                var numbers: [Int] = []
                let reader = try RawClient(daemon)
                try reader.subscribe("a", durable: name)
                while let number = Int(String(decoding: try reader.message().payload, as: UTF8.self)) {
                    numbers.append(number)
                }
                return numbers
            }
        }

        /// The time of the message in the middle, in UTC or in local time, to the microsecond.
        private func middleTime(offsetSeconds: Int = 0, format: String) -> String {
            let (seconds, fraction) = messages[Self.middle].stamp.timeMicroseconds
                .quotientAndRemainder(dividingBy: 1_000_000)
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: offsetSeconds)
            formatter.dateFormat = format
            let text = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            return text + "." + String(repeating: "0", count: 6 - "\(fraction)".count) + "\(fraction)"
        }

        @Test func `a subscription gets exactly the messages from its start on`() async throws {
            // Five and a half hours ahead of UTC.
            let local = Notifyctl(socket: daemon.socket, environment: ["TZ": "TST-05:30"])
            let sequence = messages[Self.middle].stamp.sequence
            let starts: [(name: String, notifyctl: Notifyctl, start: String, first: Int)] = [
                ("sequence", notifyctl, "\(sequence)", Self.middle),
                ("hole", notifyctl, "\(sequence - 1)", Self.middle),
                ("time", notifyctl, middleTime(format: "yyyy-MM-dd'T'HH:mm:ss") + "Z", Self.middle),
                ("local", local, middleTime(offsetSeconds: 19_800, format: "yyyy-MM-dd HH:mm:ss"), Self.middle),
                ("hour", notifyctl, "1h", 0), ("past", notifyctl, "2020-02-29", 0), ("first", notifyctl, "1", 0),
                ("none", notifyctl, "0s", Self.count),
            ]
            for (name, notifyctl, start, _) in starts {
                let result = try await notifyctl.run("durable", "create", name, "a", "--from", start)
                #expect(result.output == "created \(name)\n", "\(name): \(result.errors)")
            }
            for (name, _, start, first) in starts {
                #expect(try received(name) == [Array(first..<Self.count)], "\(name): \(start)")
            }
        }

        @Test(arguments: [
            ["durable", "create", "d", "a", "--from"], ["durable", "reset", "d", "--to"], ["subscribe", "a", "--from"],
            ["log", "--from"], ["log", "--to"], ["purge", "a", "--yes", "--before"],
        ])
        func `a time in the future is refused`(command: [String]) async throws {
            let process = try notifyctl.start(command + ["3000-01-01"])
            #expect(try await process.waitForExit() == .status(64))
            let errors = try await process.standardError.wait("the errors") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "is in the future; give a time that has passed, or 'now' for the end of the log (see")
        }

        @Test func `an age counts back from the time of the request`() throws {
            let before = microsecondsNow()
            let age = before - messages[Self.middle].stamp.timeMicroseconds
            try client.subscribe("a", durable: "age", from: .age(microseconds: age))
            let after = microsecondsNow()
            try client.detach()
            let numbers = try #require(try received("age").first)
            let first = numbers.first ?? Self.count
            #expect(numbers == Array(first..<Self.count))
            // The request arrived between the two readings of the clock.
            #expect(first >= Self.middle)
            #expect(messages[first - 1].stamp.timeMicroseconds < after - age)
        }

        @Test func `'subscribe' begins at a sequence, and continues at its cursor later`() async throws {
            let sequence = messages[Self.count - 2].stamp.sequence
            let options = ["subscribe", "a", "--durable", "mine", "-c", "1", "--from", "\(sequence)"]
            for expected in ["\(Self.count - 2)\n", "\(Self.count - 1)\n"] {
                let process = try notifyctl.start(options)
                #expect(try await process.waitForExit() == .status(0))
                #expect(try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil } == expected)
            }
        }

        @Test func `a start that is unreadable or beyond the end is refused`() async throws {
            let unreadable = try await notifyctl.run("durable", "create", "d", "a", "--from", "2026-02-30")
            #expect(unreadable.status == .status(64))
            #expect(unreadable.errors.contains("2026-02-30") && unreadable.errors.contains("there is no such day"))
            let beyond = try await notifyctl.run("durable", "create", "d", "a", "--from", "1000")
            #expect(beyond.status == .status(64))
            #expect(beyond.errors.contains("sequence 1000 is beyond the end of the log"))
            #expect(try client.list().map(\.durableName) == ["all"])
        }

        private func microsecondsNow() -> UInt64 {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
        }
    }
}
