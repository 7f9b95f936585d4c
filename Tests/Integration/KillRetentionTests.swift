import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The daemon is killed repeatedly while it deletes unread messages.
    @Suite struct KillRetentionTests {
        private static let rounds = 12
        /// The maximum number of rounds. Slow machines need more rounds than others until a limit deletes messages.
        private static let mostRounds = 200

        @Test func `each receipted post is delivered, or in a gap of messages that a limit deleted`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("kill rounds with retention: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let folder = try TemporaryFolder()
            let rule = "log: {retention: [{names: [load.>], max_bytes: 2MiB, history_age: 0}]}\n"
            let daemon = try await Daemon.start(
                ["--config", try folder.write(rule, to: "notifyd.yaml")], folder: folder)
            let journal = DeliveryJournal()
            try Self.createReader(daemon)

            var deletingLives = 0
            for round in 1...Self.mostRounds where round <= Self.rounds || deletingLives < 3 {
                let seeds = (0..<3).map { _ in random.next() }
                let process = daemon.process
                let life = Int.random(in: 50...800, using: &random)
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(life)) { process.send(SIGKILL) }
                try await onThreads(3) { number in
                    let load = KillLoad(daemon: daemon, journal: journal, round: round, seed: seeds[number])
                    try load.post("load.\(number)", .stored, maximumBytes: 8000)
                }
                #expect(try await process.waitForExit() == .signal(SIGKILL))
                let before = journal.receipted.count
                try await daemon.start()
                if try Self.storedCount(daemon) < before { deletingLives += 1 }
                if !journal.violations.isEmpty { break }
            }

            let (delivered, gaps) = try Self.readToTheEnd(daemon, journal)
            #expect(journal.violations.isEmpty)
            let missing = journal.receipted.subtracting(delivered)
            let unexplained = missing.filter { sequence in
                !gaps.contains { ($0.range.first...$0.range.last).contains(sequence) }
            }
            #expect(unexplained.isEmpty)
            #expect(UInt64(missing.count) <= gaps.reduce(0) { $0 + $1.dropped })
            #expect(gaps.allSatisfy { $0.reason == .deleted && !$0.isUpperBound })
            #expect(!missing.isEmpty)
            #expect(deletingLives >= 3)
            print("kill rounds with retention: \(journal.receipted.count) stored, \(delivered.count) kept")
            #expect(try await daemon.stop() == .status(0))
        }

        /// Creates the durable subscription that reads nothing until all rounds are over.
        private static func createReader(_ daemon: Daemon) throws {
            let client = try RawClient(daemon)
            try client.subscribe("load.>", durable: "reader")
            try client.detach()
        }

        private static func storedCount(_ daemon: Daemon) throws -> Int {
            Int(try RawClient(daemon).statistics()["log_messages"] ?? 0)
        }

        /// Posts a last message, and reads up to it.
        private static func readToTheEnd(
            _ daemon: Daemon, _ journal: DeliveryJournal
        ) throws -> (delivered: Set<UInt64>, gaps: [Gap]) {
            let client = try RawClient(daemon)
            let end = try client.post("load.end", "end", durability: .stored)
            try client.subscribe("load.>", durable: "reader", window: 1024)
            var (delivered, gaps): (Set<UInt64>, [Gap]) = ([], [])
            while !delivered.contains(end.sequence) {
                switch try client.next() {
                case .message(let message):
                    journal.received(message)
                    if !delivered.insert(message.sequence).inserted {
                        journal.reportViolation("\(message.sequence) was delivered twice")
                    }
                    if delivered.count % 256 == 0 { try client.acknowledge(through: message.sequence) }
                case .gap(let gap): gaps.append(gap)
                case let event: journal.reportViolation("the reader received \(event)")
                }
            }
            return (delivered, gaps)
        }
    }
}
