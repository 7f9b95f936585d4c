import Foundation
import NotifyWire
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The daemon is killed repeatedly under load. Its guarantees hold each time.
    @Suite struct KillRoundTests {
        private static let rounds = 24
        /// The maximum number of rounds. Slow machines need more rounds than others until there is enough data.
        private static let mostRounds = 200

        @Test func `receipted posts are neither lost, nor reordered, nor numbered twice`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("kill rounds: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let journal = DeliveryJournal()
            let daemon = try await Daemon.start()
            try Self.createArchive(daemon)

            for round in 1...Self.mostRounds where round <= Self.rounds || !journal.hasEnoughData {
                let seeds = (0..<5).map { _ in random.next() }
                let process = daemon.process
                let life = Int.random(in: 1...600, using: &random)
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(life)) { process.send(SIGKILL) }
                try await onThreads(5) { number in
                    let load = KillLoad(daemon: daemon, journal: journal, round: round, seed: seeds[number])
                    switch number {
                    case 0: try load.post("load.stored", .stored, maximumBytes: 100)
                    case 1: try load.post("load.automatic", .automatic, maximumBytes: 3000)
                    case 2: try load.post("load.volatile", .volatile, maximumBytes: 100)
                    case 3: try load.readDurably()
                    default: try load.readVolatile()
                    }
                }
                #expect(try await process.waitForExit() == .signal(SIGKILL))
                try await daemon.start()
                if !journal.violations.isEmpty { break }
            }

            try Self.readToTheEnd(daemon, journal)
            let archived = try Self.readArchive(daemon, journal)
            let receipted = journal.receipted
            #expect(journal.violations.isEmpty)
            #expect(receipted.subtracting(archived).isEmpty)
            #expect(receipted.subtracting(journal.seen).isEmpty)
            #expect(journal.hasEnoughData)
            print("kill rounds: \(receipted.count) stored, \(archived.count) in the log, \(journal.repeats) repeats")
            #expect(try await daemon.stop() == .status(0))
        }

        /// Creates a durable subscription before the first message. No client is attached to it during the load.
        private static func createArchive(_ daemon: Daemon) throws {
            let client = try RawClient(daemon)
            try client.subscribe("load.>", durable: "archive")
            try client.detach()
        }

        /// Posts a last message after the kills, and reads all remaining messages.
        private static func readToTheEnd(_ daemon: Daemon, _ journal: DeliveryJournal) throws {
            let client = try RawClient(daemon)
            try client.subscribe("load.>", durable: "reader")
            let end = try client.post("load.end", "end", durability: .stored)
            var last: UInt64 = 0
            while last != end.sequence {
                let message = try client.message()
                journal.received(message, after: last)
                last = message.sequence
                try client.acknowledge(through: last)
            }
        }

        /// Reads all stored messages in one attachment.
        ///
        /// - Returns: The sequences.
        private static func readArchive(_ daemon: Daemon, _ journal: DeliveryJournal) throws -> Set<UInt64> {
            let client = try RawClient(daemon)
            try client.subscribe("load.>", durable: "archive", window: 1024)
            var sequences: Set<UInt64> = []
            var last: UInt64 = 0
            // Each poster's messages must be stored in the order in which they were posted.
            var lastOfPoster: [Substring: (round: Int, number: Int)] = [:]
            while true {
                let message = try client.message()
                journal.received(message)
                if message.sequence <= last {
                    journal.reportViolation("archived \(message.sequence) came after \(last)")
                }
                if message.isRedelivery { journal.reportViolation("archived \(message.sequence) is a redelivery") }
                last = message.sequence
                sequences.insert(last)
                if sequences.count % 256 == 0 { try client.acknowledge(through: last) }
                if message.name == "load.end" { return sequences }
                let parts = message.text.split(separator: " ")
                let place = (round: Int(parts[1]) ?? 0, number: Int(parts[2]) ?? 0)
                if let before = lastOfPoster.updateValue(place, forKey: parts[0]), before >= place {
                    journal.reportViolation("\(parts[0]) posted \(place) before \(before), but the log has it later")
                }
            }
        }
    }
}

/// The load of one client in one round, until the daemon has ended.
struct KillLoad {
    var daemon: Daemon
    var journal: DeliveryJournal
    var round: Int
    var random: SeededGenerator

    init(daemon: Daemon, journal: DeliveryJournal, round: Int, seed: UInt64) {
        self.daemon = daemon
        self.journal = journal
        self.round = round
        random = SeededGenerator(seed: seed)
    }

    /// Posts as fast as possible, but waits while more than 500 posts have no receipt.
    func post(_ name: String, _ durability: Durability, maximumBytes: Int) throws {
        var random = random
        guard let client = try connect() else { return }
        var outstanding: [UInt64: String] = [:]
        var number = 0
        let take = { (event: Received) in
            switch event {
            case .receipt(let receipt):
                guard let text = outstanding.removeValue(forKey: receipt.request) else {
                    return journal.reportViolation("a receipt for request \(receipt.request), which is not pending")
                }
                journal.received(receipt, for: text)
            default: journal.reportViolation("a poster received \(event)")
            }
        }
        do {
            while true {
                var posts: [UInt8] = []
                for _ in 0..<Int.random(in: 1...50, using: &random) {
                    let request = client.newRequest()
                    number += 1
                    let padding = String(repeating: "x", count: Int.random(in: 0...maximumBytes, using: &random))
                    let text = "\(name) \(round) \(number) \(padding)"
                    outstanding[request] = text
                    posts += postFrame(request, name: Array(name.utf8), payload: Array(text.utf8), durability)
                }
                try client.send(posts)
                while outstanding.count > 500 { take(try client.next()) }
            }
        } catch  where isTheEnd(error) {
            // Receipts that arrived before the end of the connection are valid.
            for event in (try? client.waitForEnd()) ?? [] { take(event) }
        }
    }

    /// Reads the durable subscription, and acknowledges some of the messages.
    func readDurably() throws {
        var random = random
        guard let client = try connect() else { return }
        do {
            try client.subscribe(
                "load.>", durable: "reader", from: .oldest, window: .random(in: 1...300, using: &random))
            var last: UInt64 = 0
            while true {
                let message = try client.message()
                journal.received(message, after: last)
                last = message.sequence
                if Int.random(in: 0..<4, using: &random) == 0 || client.isQuiet {
                    try client.acknowledge(through: last)
                }
            }
        } catch  where isTheEnd(error) {}
    }

    func readVolatile() throws {
        guard let client = try connect() else { return }
        do {
            try client.subscribe("load.>")
            var last: UInt64 = 0
            while true {
                switch try client.next() {
                case .message(let message):
                    journal.received(message)
                    if message.sequence <= last {
                        journal.reportViolation("volatile \(message.sequence) came after \(last)")
                    }
                    last = message.sequence
                case .gap(let gap): last = gap.range.last
                case let event: journal.reportViolation("a volatile reader received \(event)")
                }
            }
        } catch  where isTheEnd(error) {}
    }

    /// Connects. Returns nil if the daemon was already killed.
    private func connect() throws -> RawClient? {
        do {
            return try RawClient(daemon)
        } catch  where isTheEnd(error) {
            return nil
        }
    }

    /// Whether the error is the end of the stream or a failed system call, the only effects that a kill may have.
    private func isTheEnd(_ error: any Error) -> Bool {
        error is ConnectionEnded || error is Errno
    }
}
