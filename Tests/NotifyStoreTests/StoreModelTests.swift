import NIOCore
import NotifyCenter
import NotifyStore
import NotifyLog
import NotifyWire
import TestSupport
import Testing

/// Compares the store with an array after random commits, failures, pages and restarts.
@Suite(.timeLimit(.minutes(25)))
struct StoreModelTests {
    private static let filters: [(String, String?)] = [
        (">", nil), ("a.*", nil), ("a.*.x", nil), ("b.3.x", nil), ("*.1.>", nil), ("c.>", "o1"), (">", "o2"),
        ("none", nil),
    ]

    @Test(arguments: 0..<4)
    func `pages agree with a model of the log`(round: Int) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var model = try Model(seed: seed)
        for _ in 0..<300 {
            switch Int.random(in: 0..<20, using: &model.generator) {
            case 0..<9: try await model.commit()
            case 9: try await model.failToCommit()
            case 10: try model.reopen()
            default: try await model.checkPage(Self.filters)
            }
        }
        try await model.checkEverything(Self.filters)
        try model.store.close(nextSequence: model.next)
    }

    private struct Model {
        let folder: TemporaryFolder
        var store: Store
        var options = StoreOptions()
        var generator: SeededGenerator
        var messages: [StoredMessage] = []
        var next: UInt64 = 1

        init(seed: UInt64) throws {
            folder = try TemporaryFolder()
            generator = SeededGenerator(seed: seed)
            options.pageRows = Int.random(in: 1...60, using: &generator)
            options.pageBytes = Int.random(in: 100...6000, using: &generator)
            options.pageSegments = Int.random(in: 1...8, using: &generator)
            options.filterMemoryBytes = [0, 16, 1 << 20].randomElement(using: &generator) ?? 0
            options.checkpointBytes = 128 * 1024
            options.segmentMessages = Int.random(in: 1...400, using: &generator)
            options.segmentBytes = Int.random(in: 100...100_000, using: &generator)
            store = try Store.open(path: folder.database, options: options)
        }

        mutating func make() -> [StoredMessage] {
            // Some batches have dense sequences, and others have holes.
            let stride = [1, 1, 40, 3000, 20_000].randomElement(using: &generator) ?? 1
            return (0..<Int.random(in: 1...60, using: &generator)).map { _ in
                next += UInt64.random(in: 1...UInt64(stride), using: &generator)
                let first = ["a", "b", "c"].randomElement(using: &generator) ?? "a"
                // The number of possible names grows with the sequence, so that segments differ and later messages add
                // new names.
                let second = UInt64.random(in: 0...(3 + next / 50_000), using: &generator)
                var message = StoredMessage(
                    next, "\(first).\(second)" + (Bool.random(using: &generator) ? ".x" : ""),
                    object: ["", "o1", "o2"].randomElement(using: &generator) ?? "",
                    payload: Array(repeating: UInt8(next & 0xFF), count: Int.random(in: 0...300, using: &generator)))
                message.stamp[1] = UInt64.random(in: 1000...1002, using: &generator)
                return message
            }
        }

        mutating func commit() async throws {
            let new = make()
            try await store.commit(new, isSynced: Bool.random(using: &generator)).result.get()
            messages += new
        }

        mutating func failToCommit() async throws {
            let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))
            let outcome = await store.commit(make(), changes: [.create(record), .create(record)])
            #expect(outcome.failure != nil)
            #expect(outcome.statistics.logMessages == UInt64(messages.count))
        }

        mutating func reopen() throws {
            next += 1
            try store.close(nextSequence: next)
            store = try Store.open(path: folder.database, options: options)
            #expect(store.recovered.nextSequence == next)
            #expect(store.recovered.persistedThrough == messages.last?.sequence ?? 0)
            #expect(store.recovered.usage == messages.usage)
        }

        mutating func checkPage(_ filters: [(String, String?)]) async throws {
            let index = Int.random(in: 0..<filters.count, using: &generator)
            let filter = try SubscriptionFilter(filters[index].0, object: filters[index].1)
            let last = messages.last?.sequence ?? 0
            let after = UInt64.random(in: 0...last, using: &generator)
            let maximum = Int.random(in: 1...80, using: &generator)
            let page = try await store.page(filter, after: after, maximum: maximum, subscription: UInt32(index))
            let expected = wanted(filter).filter { $0.sequence > after && $0.sequence <= page.scannedThrough }
            #expect(page.block.messages == expected)
            #expect(page.scannedThrough > after || page.scannedThrough == last)
            #expect(page.scannedThrough <= last)
            #expect(page.block.entries.count <= maximum)
            #expect(page.block.entries.count == 1 || page.block.frames.readableBytes <= options.pageBytes)
        }

        mutating func checkEverything(_ filters: [(String, String?)]) async throws {
            for (index, (pattern, object)) in filters.enumerated() {
                let filter = try SubscriptionFilter(pattern, object: object)
                #expect(try await store.everything(filter, subscription: UInt32(index)) == wanted(filter))
            }
        }

        private func wanted(_ filter: SubscriptionFilter) -> [StoredMessage] {
            messages.filter { message in
                Array(message.name.utf8).withUnsafeBytes { filter.matches(name: $0) }
                    && (filter.object ?? message.object) == message.object
            }
        }
    }
}
