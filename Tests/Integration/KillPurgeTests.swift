import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The daemon is killed while it purges.
    @Suite struct KillPurgeTests {
        private static let rounds = 8
        /// Posts of each round. They make several segments, because their payloads are large.
        private static let count = 600
        private static let payload = String(repeating: "x", count: 8000)

        @Test func `after a kill, each message is stored, or purged and in a gap`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("kill rounds with purges: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            var (stored, kept): (Set<UInt64>, Set<UInt64>) = ([], [])
            try Self.createReader(daemon)
            for _ in 0..<Self.rounds {
                let client = try RawClient(daemon)
                for number in 0..<Self.count {
                    let isKept = number.isMultiple(of: 3)
                    let name = isKept ? "load.kept" : "load.purged"
                    let request = try client.send(post: name, Self.payload, durability: .stored)
                    guard number % 100 == 99 else { continue }
                    _ = try client.receipt(of: request)
                }
                for (name, sequences) in try Self.read(client) {
                    stored.formUnion(sequences)
                    if name == "load.kept" { kept.formUnion(sequences) }
                }
                let process = daemon.process
                try client.send(Purge(request: client.newRequest(), patterns: ["load.purged"]))
                let life = Int.random(in: 0...150, using: &random)
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(life)) { process.send(SIGKILL) }
                #expect(try await process.waitForExit() == .signal(SIGKILL))
                try await daemon.start()
                try await Self.checkCounts(daemon)
            }
            let (delivered, gaps) = try Self.readToTheEnd(daemon)
            #expect(kept.isSubset(of: delivered))
            let missing = stored.subtracting(delivered)
            #expect(!missing.isEmpty)
            #expect(
                missing.allSatisfy { sequence in
                    gaps.contains { ($0.range.first...$0.range.last).contains(sequence) }
                })
            #expect(UInt64(missing.count) <= gaps.reduce(0) { $0 + $1.dropped })
            #expect(try await daemon.stop() == .status(0))
        }

        /// The sequences of the stored messages of each name.
        private static func read(_ client: RawClient) throws -> [String: Set<UInt64>] {
            var sequences: [String: Set<UInt64>] = [:]
            var first: UInt64 = 1
            while true {
                try client.send(ReadLog(request: client.newRequest(), first: first, patterns: [">"]))
                let page = try client.wait("a page") { if case .logPage(let page) = $0 { page } else { nil } }
                for _ in 0..<page.count {
                    let message = try client.message()
                    sequences[message.name, default: []].insert(message.sequence)
                }
                #expect(page.damaged == 0)
                guard !page.isEnd else { return sequences }
                first = page.through + 1
            }
        }

        /// Checks that the counts of the segments agree with the messages.
        private static func checkCounts(_ daemon: Daemon) async throws {
            let client = try RawClient(daemon)
            let read = try read(client)
            let summary = try await Notifyctl(daemon).run("log", "--summary", "--json").objects
            for object in summary {
                let name = try #require(object["name"] as? String)
                #expect(object["messages"] as? Int == read[name]?.count)
            }
            #expect(summary.count == read.count)
            let count = try client.statistics()["log_messages"]
            #expect(count == UInt64(read.values.reduce(0) { $0 + $1.count }))
        }

        /// Creates the durable subscription that reads nothing until all rounds are over.
        private static func createReader(_ daemon: Daemon) throws {
            let client = try RawClient(daemon)
            try client.subscribe("load.>", durable: "reader")
            try client.detach()
        }

        /// Posts a last message, and reads up to it.
        private static func readToTheEnd(_ daemon: Daemon) throws -> (delivered: Set<UInt64>, gaps: [Gap]) {
            let client = try RawClient(daemon)
            let end = try client.post("load.end", "end", durability: .stored)
            try client.subscribe("load.>", durable: "reader", window: 1024)
            var (delivered, gaps): (Set<UInt64>, [Gap]) = ([], [])
            while !delivered.contains(end.sequence) {
                switch try client.next() {
                case .message(let message):
                    #expect(delivered.insert(message.sequence).inserted)
                    if delivered.count % 256 == 0 { try client.acknowledge(through: message.sequence) }
                case .gap(let gap): gaps.append(gap)
                case let event: Issue.record("the reader received \(event)")
                }
            }
            return (delivered, gaps)
        }
    }
}
