import WireTestSupport
import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The daemon is killed while notifyctl runs, and `notifyctl subscribe --durable` is killed.
    @Suite struct NotifyctlRestartTests {
        @Test func `'subscribe' reports a lost connection and reconnects`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["subscribe", "a"])
            try daemon.waitForSubscriptions(1)
            try RawClient(daemon).post("a", "1")
            #expect(try await process.waitForLines(1) == ["1"])
            try await daemon.kill()
            _ = try await process.standardError.wait("the disconnection") { $0.lineCount > 0 ? true : nil }
            #expect(!process.hasExited)
            try await daemon.start()
            try daemon.waitForSubscriptions(1)
            _ = try await process.standardError.wait("the reconnection") { $0.lineCount > 1 ? true : nil }
            try RawClient(daemon).post("a", "2")
            #expect(try await process.waitForLines(2) == ["1", "2"])
        }

        @Test func `lists are printed again after the daemon has restarted`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["clients", "--watch", "--interval", "100ms"])
            _ = try await process.waitForLines(2)
            try await daemon.kill()
            _ = try await process.standardError.wait("the disconnection") { $0.lineCount > 0 ? true : nil }
            let printed = process.standardOutput.current.lineCount
            try await daemon.start()
            _ = try await process.waitForLines(printed + 6)
            #expect(process.standardError.current.lines.count == 2)
            process.send(SIGINT)
            #expect(try await process.waitForExit() == .status(0))
        }

        @Test func `a killed subscriber gets every message in order, also when the daemon is killed`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("killed subscribers: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            let arguments = ["subscribe", "mail.>", "--durable", "box", "--json"]
            let first = try notifyctl.start(arguments)
            try daemon.waitForSubscriptions(1)
            first.send(SIGKILL)
            try await first.waitForExit()

            var posted: [UInt64] = []
            var printed: [(sequence: UInt64, isRepeat: Bool)] = []
            for round in 0..<8 {
                posted += try RawClient(daemon).pipeline(
                    300, name: "mail.in", durability: .stored, payload: Array("\(round)".utf8)
                ).map(\.sequence)
                let subscriber = try notifyctl.start(arguments)
                _ = try await subscriber.waitForLines(.random(in: 1...200, using: &random))
                if round % 2 == 0 {
                    try await daemon.kill()
                    subscriber.send(SIGKILL)
                    try await daemon.start()
                } else {
                    subscriber.send(SIGKILL)
                }
                try await subscriber.waitForExit()
                printed += try await Self.messages(of: subscriber)
            }
            posted.append(try RawClient(daemon).post("mail.end", durability: .stored).sequence)
            let last = try notifyctl.start(arguments)
            _ = try await last.standardOutput.wait("the last message") { $0.text.contains("mail.end") ? true : nil }
            last.send(SIGTERM)
            #expect(try await last.waitForExit() == .status(0))
            printed += try await Self.messages(of: last)
            try Self.check(printed, against: posted)
        }

        /// Checks that all messages were printed: new ones in order, and repeated ones flagged.
        private static func check(_ printed: [(sequence: UInt64, isRepeat: Bool)], against posted: [UInt64]) throws {
            var seen: Set<UInt64> = []
            var firsts: [UInt64] = []
            for (sequence, isRepeat) in printed {
                if seen.insert(sequence).inserted {
                    firsts.append(sequence)
                } else {
                    #expect(isRepeat, "\(sequence) came again without a flag")
                }
            }
            #expect(firsts == posted)
        }

        /// Returns the messages that the process printed before it was killed. The last line may be incomplete.
        private static func messages(of process: ChildProcess) async throws -> [(sequence: UInt64, isRepeat: Bool)] {
            let output = try await process.standardOutput.wait("the end of output") { $0.isAtEnd ? $0 : nil }
            return try output.text.split(separator: "\n").filter { $0.hasSuffix("}") }.map { line in
                message(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:])
            }
        }

        private static func message(_ object: [String: Any]) -> (sequence: UInt64, isRepeat: Bool) {
            (object["sequence"] as? UInt64 ?? 0, object["redelivered"] as? Bool ?? false)
        }
    }
}
