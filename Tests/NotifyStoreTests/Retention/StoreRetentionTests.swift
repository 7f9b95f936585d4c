@_spi(Package) import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

@Suite(.timeLimit(.minutes(25)))
struct StoreRetentionTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Options with four messages in each segment.
    private func options(_ rules: RetentionRule...) -> StoreOptions {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        options.segmentAge = .seconds(60)
        options.clock = clock.storeClock
        options.retention.configuredRules += rules
        return options
    }

    private func rule(
        _ pattern: String, historyAge: Duration? = nil, historyBytes: UInt64? = nil, maximumAge: Duration? = nil,
        maximumBytes: UInt64? = nil, maximumMessages: UInt64? = nil
    ) throws -> RetentionRule {
        var rule = RetentionRule(patterns: [try NamePattern(pattern)])
        rule.historyAge = historyAge
        rule.historyBytes = historyBytes
        rule.maximumAge = maximumAge
        rule.maximumBytes = maximumBytes
        rule.maximumMessages = maximumMessages
        return rule
    }

    private func open(_ options: StoreOptions) throws -> (Store, Deletions) {
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        return (store, deletions)
    }

    private func kept(_ store: Store) async throws -> [UInt64] {
        try await store.everything(SubscriptionFilter(">")).map(\.sequence)
    }

    @Test func `read messages are deleted once they are older than the history`() async throws {
        let (store, deletions) = try open(options(rule("a", historyAge: .seconds(3600))))
        await store.commit((1...9).map { StoredMessage($0, "a") })
        clock.advance(by: .seconds(3599))
        store.maintainToEnd()
        #expect(try await kept(store) == Array(1...9))
        clock.advance(by: .seconds(1))
        store.maintainToEnd()
        #expect(
            try await kept(store) == [9],
            "message 9's segment was closed only in the pass before, and its age counts from then")
        #expect(deletions.all.usage == (1...8).map { StoredMessage($0, "a") }.usage)
        #expect(deletions.all.losses.isEmpty)
        clock.advance(by: .seconds(3600))
        store.maintainToEnd()
        #expect(try await kept(store) == [])
        #expect(deletions.all.names == [Array("a".utf8)])
        #expect(await store.commit([StoredMessage(10, "a")]).statistics.logMessages == 1)
        try store.close(nextSequence: 11)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.usage == [StoredMessage(10, "a")].usage)
        try again.close(nextSequence: 11)
        #expect(try folder.rows("SELECT id, name FROM names") == ["2|a"], "ids are never given again")
    }

    @Test func `messages that a subscription has not acknowledged stay`() async throws {
        let (store, deletions) = try open(options(rule(">", historyAge: .zero)))
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))
        await store.commit(
            (1...12).map { StoredMessage($0, $0 % 2 == 0 ? "a" : "b") }, changes: [.create(record)])
        await store.commit([StoredMessage(13, "b")])
        store.maintainToEnd()
        #expect(
            try await kept(store) == [2, 4, 6, 8, 10, 12, 13],
            "a subscription holds back only matching messages; 13 is in the open segment")
        await store.commit([], changes: [.update(id: 1, DurableProgress(cursor: 8, seenThrough: 12))])
        store.maintainToEnd()
        #expect(try await kept(store) == [10, 12, 13])
        #expect(try await store.everything(SubscriptionFilter("a"), subscription: 2).map(\.sequence) == [10, 12])
        await store.commit([], changes: [.remove(id: 1)])
        store.maintainToEnd()
        #expect(try await kept(store) == [13])
        #expect(deletions.all.losses.isEmpty)
        try store.close(nextSequence: 14)
    }

    @Test func `history is kept up to historyBytes, and at most one segment more`() async throws {
        let size = UInt64([StoredMessage(1, "a")].usage.values.reduce(0) { $0 + $1.bytes })
        let (store, _) = try open(options(rule("a", historyBytes: size * 10), rule("b")))
        for sequence in 1...100 as ClosedRange<UInt64> {
            await store.commit([StoredMessage(2 * sequence, "a"), StoredMessage(2 * sequence + 1, "b")])
        }
        store.maintainToEnd()
        let kept = try await store.everything(SubscriptionFilter("a")).map(\.sequence)
        // Each segment has two messages of each name. The open segment does not count as history.
        #expect(kept == (100 - kept.count + 1...100).map { UInt64($0) * 2 })
        #expect((10...14).contains(kept.count))
        #expect(try await store.everything(SubscriptionFilter("b"), subscription: 2).count == 100)
        try store.close(nextSequence: 300)
    }

    @Test func `the dead letters of a user do not displace those of another`() async throws {
        var rule = try rule("dead.*", maximumMessages: 20)
        rule.isPerName = true
        let (store, _) = try open(options(rule))
        await store.commit((1...3).map { StoredMessage($0, "dead.1000") })
        await store.commit((4...103).map { StoredMessage($0, "dead.1001") })
        store.maintainToEnd()
        #expect(try await store.everything(SubscriptionFilter("dead.1000")).map(\.sequence) == [1, 2, 3])
        let others = try await store.everything(SubscriptionFilter("dead.1001"), subscription: 2).count
        #expect((20...28).contains(others))
        try store.close(nextSequence: 104)
    }

    @Test(arguments: [(60, nil, nil), (nil, 150, nil), (nil, nil, 3)] as [(Int?, UInt64?, UInt64?)])
    func `a hard limit drops unread messages, and they count as lost to the subscription`(
        age: Int?, bytes: UInt64?, messages: UInt64?
    ) async throws {
        let limit = try rule(
            "a.>", maximumAge: age.map { .seconds($0) }, maximumBytes: bytes, maximumMessages: messages)
        var (store, deletions) = try open(options(limit))
        let filters = try [
            SubscriptionFilter("a.*"), SubscriptionFilter("a.x", object: "o"), SubscriptionFilter("b"),
            SubscriptionFilter(">"),
        ]
        var records = filters.enumerated().map { index, filter in
            DurableRecord(id: DurableID(UInt32(index + 1)), name: "\(index)", filter)
        }
        records[3].progress.cursor = 2
        records[3].progress.acknowledged = [SequenceRange(first: 4, last: 5)]
        await store.commit(
            (1...6).map { StoredMessage($0, "a.x") } + [StoredMessage(7, "b"), StoredMessage(8, "b")],
            changes: records.map { .create($0) })
        await store.commit((9...13).map { StoredMessage($0, "a.y") })
        clock.advance(by: .seconds(60))
        store.maintainToEnd()
        let kept = try await kept(store)
        #expect(kept.starts(with: [7, 8]))
        let lost = (1...13).filter { !kept.contains($0) }
        func loss(_ sequences: [UInt64], isUpperBound: Bool = false) -> Loss? {
            sequences.isEmpty
                ? nil
                : Loss(
                    first: sequences[0], last: sequences[sequences.count - 1], count: UInt64(sequences.count),
                    isUpperBound: isUpperBound)
        }
        let expected = [
            loss(lost), loss(lost.filter { $0 <= 6 }, isUpperBound: true), nil, loss(lost.filter { $0 == 3 || $0 > 5 }),
        ]
        #expect(lost.starts(with: [1, 2, 3, 4, 5, 6]))
        #expect((1...4).map { deletions.all.losses[DurableID($0)] } == expected)
        try store.close(nextSequence: 14)

        (store, deletions) = try open(options())
        #expect(store.recovered.subscriptions.map(\.loss) == expected)
        var (part, rest) = (try #require(expected[0]), try #require(expected[0]))
        (part.count, rest.count) = (part.count - 2, 2)
        await store.commit([], changes: [.forgetLoss(id: 1, part), .remove(id: 4)])
        try store.close(nextSequence: 14)
        (store, deletions) = try open(options())
        #expect(
            store.recovered.subscriptions.map(\.loss) == [rest] + expected[1...2],
            "forgetting a part of a loss keeps the rest")
        await store.commit([], changes: [.forgetLoss(id: 1, rest)])
        try store.close(nextSequence: 14)
        #expect(try folder.rows("SELECT subscription FROM losses") == ["2"])
    }

    @Test func `messages that the daemon has dropped are added to a recorded loss`() async throws {
        var (store, _) = try open(options())
        let record = DurableRecord(id: 1, name: "one", try SubscriptionFilter("a"))
        await store.commit([StoredMessage(1, "a")], changes: [.create(record)])
        await store.commit([], changes: [.addLoss(id: 1, Loss(first: 3, last: 7, count: 2, isUpperBound: false))])
        await store.commit([], changes: [.addLoss(id: 1, Loss(first: 1, last: 2, count: 2, isUpperBound: true))])
        try store.close(nextSequence: 8)
        (store, _) = try open(options())
        let total = Loss(first: 1, last: 7, count: 4, isUpperBound: true)
        #expect(store.recovered.subscriptions.map(\.loss) == [total])
        await store.commit([], changes: [.forgetLoss(id: 1, total)])
        try store.close(nextSequence: 8)
        #expect(try folder.rows("SELECT subscription FROM losses").isEmpty)
    }

    @Test func `a kill before deleted space is given back to the file system does no damage`() async throws {
        FaultyDisk.watch(folder.path)
        let payload = [UInt8](repeating: 7, count: 1000)
        let first = try Store.open(path: folder.database, options: options())
        for start in stride(from: UInt64(1), to: 4000, by: 1000) {
            await first.commit((start..<start + 1000).map { StoredMessage($0, "a", payload: payload) })
        }
        try first.close(nextSequence: 5000)
        let pages = try folder.rows("PRAGMA page_count").compactMap(Int.init)[0]

        // Deletes messages, so that the smaller database exists only in the write-ahead log. The disk then fails as if
        // the process had been killed before a checkpoint shrinks the file.
        func deleteUntilKilled() throws {
            let killed = try Store.open(path: folder.database, options: options(rule(">", historyAge: .zero)))
            killed.maintainToEnd()
            FaultyDisk.set(.death, in: folder.path)
        }
        try deleteUntilKilled()
        FaultyDisk.set(nil, in: folder.path)

        var last = options()
        last.checkpointBytes = 64 << 10
        let next = try Store.open(path: folder.database, options: last)
        for sequence in 5000..<5100 as Range<UInt64> {
            #expect(await next.commit([StoredMessage(sequence, "b", payload: payload)]).failure == nil)
        }
        try next.close(nextSequence: 6000)
        #expect(try folder.rows("PRAGMA page_count").compactMap(Int.init)[0] < pages / 2)
    }

    /// The pages of SQLite's free list do not count. SQLite merges a page with its neighbours once two thirds are free.
    @Test(arguments: [(100, 100), (50, 3000), (3000, 50)])
    func `messages between deleted messages use at most three times as many pages as alone`(
        keptBytes: Int, deletedBytes: Int
    ) async throws {
        let messages = (1...6000).map { number in
            let (name, bytes) = number % 2 == 0 ? ("kept", keptBytes) : ("deleted", deletedBytes)
            return StoredMessage(UInt64(number), name, payload: [UInt8](repeating: 7, count: bytes))
        }
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("kept"))
        func pages(of messages: [StoredMessage], in folder: TemporaryFolder) async throws -> Int {
            var options = StoreOptions.withoutTimer
            options.retention.configuredRules.append(try rule(">", historyAge: .zero))
            let store = try Store.open(path: folder.database, options: options)
            await store.commit([], changes: [.create(record)])
            for chunk in stride(from: 0, to: messages.count, by: 500) {
                await store.commit(Array(messages[chunk..<min(chunk + 500, messages.count)]))
            }
            store.maintainToEnd()
            try store.close(nextSequence: 7000)
            let pages = try folder.rows("PRAGMA page_count") + folder.rows("PRAGMA freelist_count")
            return (Int(pages[0]) ?? 0) - (Int(pages[1]) ?? 0)
        }
        let used = try await pages(of: messages, in: folder)
        let least = try await pages(of: messages.filter { $0.name == "kept" }, in: TemporaryFolder())
        #expect(used <= 3 * least, "\(used) pages in place of \(least)")
    }

    @Test func `the space of deleted messages returns to the file system`() async throws {
        var options = try options(rule(">", historyAge: .zero))
        options.checkpointBytes = 1 << 20
        let (store, _) = try open(options)
        let payload = [UInt8](repeating: 7, count: 1000)
        for first in stride(from: UInt64(1), to: 8000, by: 1000) {
            await store.commit((first..<first + 1000).map { StoredMessage($0, "a", payload: payload) })
        }
        store.maintainToEnd()
        // These messages cause a checkpoint of the write-ahead log, which makes the database smaller.
        for first in stride(from: UInt64(9001), to: 11_000, by: 1000) {
            let messages = (first..<first + 1000).map { StoredMessage($0, "b", payload: payload) }
            #expect(await store.commit(messages).failure == nil)
        }
        store.maintainToEnd()
        #expect(await store.commit([StoredMessage(12_000, "a")]).failure == nil)
        store.maintainToEnd()
        try store.close(nextSequence: 13_000)
        #expect(try folder.rows("SELECT count(*) FROM messages").compactMap(Int.init)[0] <= 8)
        let pages = try folder.rows("PRAGMA page_count").compactMap(Int.init)[0]
        let free = try folder.rows("PRAGMA freelist_count").compactMap(Int.init)[0]
        // An eighth of the used pages and 2 MiB stay for the next messages.
        #expect(free <= (pages - free) / 8 + 512, "few of more than 2,000 freed pages are left")
        #expect(pages - free < 100, "\(pages - free) pages for at most 8 messages")
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
    }
}

/// The deletions that a store reports.
final class Deletions: Sendable {
    private let deletion = Lock(Deletion())

    /// Adds a deletion. Its statistics are left out, because they depend on files and time.
    func add(_ other: Deletion) {
        var other = other
        other.statistics = nil
        deletion.withLock { $0.add(other) }
    }

    /// Takes the deletions since the last call.
    func take() -> Deletion {
        deletion.withLock { deletion in
            defer { deletion = Deletion() }
            return deletion
        }
    }

    var all: Deletion { deletion.withLock { $0 } }
}

extension Store {
    /// Waits for a pass of retention that is under way, then runs one to its end.
    func maintainToEnd() {
        while isMaintaining() {}
        maintain()
        while isMaintaining() {}
    }
}
