import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Counting the messages that subscriptions have not acknowledged.
@Suite(.timeLimit(.minutes(25)))
struct StoreBacklogTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open() throws -> Store {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        return try Store.open(path: folder.database, options: options)
    }

    private func backlogs(_ store: Store, under policy: AccessPolicy = AccessPolicy()) async -> [DurableID: Backlog] {
        await completion { store.measureBacklogs(under: policy, completion: $0) }
    }

    private func update(_ id: DurableID, _ cursor: UInt64, acknowledged: [SequenceRange] = []) -> DurableChange {
        .update(id: id, DurableProgress(cursor: cursor, seenThrough: cursor, acknowledged: acknowledged))
    }

    @Test func `an empty log has no backlog`() async throws {
        let store = try open()
        #expect(await backlogs(store).isEmpty)
        await store.commit([], changes: [.create(DurableRecord(id: 1, name: "d", try SubscriptionFilter(">")))])
        #expect(
            await backlogs(store).mapValues { [$0.messages, $0.bytes, $0.oldestMicroseconds] } == [1: [0, 0, nil]])
    }

    @Test func `a message counts only if one of the attached identities may receive it`() async throws {
        let store = try open()
        var record = try DurableRecord(id: 1, name: "d", SubscriptionFilter(">"))
        let group = Identity(uid: record.owner.uid, gid: 5, groups: [7])
        func names(_ names: String...) throws -> [NamePattern] { try names.map { try NamePattern($0) } }
        let policy = AccessPolicy(rules: [
            AccessRule(.deny, [.subscribe], names: try names("b", "c")),
            AccessRule(.allow, [.subscribe], names: try names("c"), gids: [7]),
        ])
        await store.commit(
            (1...12).map { StoredMessage($0, ["a", "b", "c"][Int($0 % 3)]) }, changes: [.create(record)])
        #expect(await backlogs(store)[1]?.messages == 12)
        #expect(await backlogs(store, under: policy)[1]?.messages == 4)
        await store.commit([], changes: [.setOwner(id: 1, group)])
        #expect(await backlogs(store, under: policy)[1]?.messages == 8)
        try store.close(nextSequence: 13)
        let again = try open()
        record.attached(group)
        #expect(again.recovered.subscriptions.map(\.owners) == [record.owners])
        #expect(await backlogs(again, under: policy)[1]?.messages == 8)
        try again.close(nextSequence: 13)
    }

    @Test func `the oldest copy of a message is reported apart from the messages above the cursor`() async throws {
        let store = try open()
        let messages = (1...3).map { StoredMessage($0) }
        await store.commit(
            messages,
            changes: [1, 2].map { .create(DurableRecord(id: $0, name: "d\($0)", try! SubscriptionFilter(">"))) })
        let copies: [DurableChange] = [3, 2].map {
            .keep(id: 1, Redelivery(sequence: $0, failures: 1, bytes: 0), reason: "")
        }
        await store.commit([], changes: copies + [1, 2].map { update($0, 3) })
        let found = await backlogs(store)
        #expect(found.mapValues(\.oldestCopyMicroseconds) == [1: messages[1].stamp[0], 2: nil])
        #expect(found[1]?.messages == 0 && found[1]?.oldestMicroseconds == nil)
    }

    @Test(arguments: 0..<12)
    func `messages above the cursor are counted in open and closed segments`(cursor: UInt64) async throws {
        let store = try open()
        let messages = (1...10).map { StoredMessage($0, $0.isMultiple(of: 2) ? "even" : "odd") }
        await store.commit(
            messages,
            changes: [
                .create(DurableRecord(id: 1, name: "all", try SubscriptionFilter(">"))),
                .create(DurableRecord(id: 2, name: "even", try SubscriptionFilter("even"))),
                .create(DurableRecord(id: 3, name: "none", try SubscriptionFilter("other"))),
            ])
        await store.commit([], changes: [1, 2, 3].map { update($0, cursor) })
        let found = await backlogs(store)
        let above = messages.filter { $0.sequence > cursor }
        for (id, pending) in [(DurableID(1), above), (2, above.filter { $0.name == "even" }), (3, [])] {
            let backlog = try #require(found[id])
            #expect(backlog.messages == UInt64(pending.count))
            #expect(backlog.bytes == UInt64(pending.usage[1000]?.bytes ?? 0))
            #expect((backlog.oldestMicroseconds == nil) == pending.isEmpty)
            #expect(!backlog.isUpperBound)
        }
    }

    @Test func `ranges acknowledged in the segment of the cursor are not counted`() async throws {
        let store = try open()
        let record = DurableRecord(id: 1, name: "d", try SubscriptionFilter(">"))
        await store.commit((1...10).map { StoredMessage($0) }, changes: [.create(record)])
        await store.commit([], changes: [update(1, 4, acknowledged: [SequenceRange(first: 6, last: 7)])])
        // The cursor is at the end of a segment, so the next segment, which has the range, is not scanned.
        #expect(await backlogs(store)[1]?.isUpperBound == true)
        await store.commit([], changes: [update(1, 5, acknowledged: [SequenceRange(first: 7, last: 8)])])
        #expect(await backlogs(store)[1]?.messages == 3)
        #expect(await backlogs(store)[1]?.isUpperBound == false)
    }

    @Test func `an object filter makes the count an upper bound`() async throws {
        let store = try open()
        let record = DurableRecord(id: 1, name: "d", try SubscriptionFilter("a", object: "o"))
        await store.commit([StoredMessage(1, "a", object: "o"), StoredMessage(2, "a")], changes: [.create(record)])
        #expect(await backlogs(store)[1]?.messages == 2)
        #expect(await backlogs(store)[1]?.isUpperBound == true)
    }

    /// The right to receive a dead letter also depends on the name of its original message.
    @Test(arguments: [true, false])
    func `dead letters make the count an upper bound unless an owner may receive everything`(isRoot: Bool) async throws
    {
        let store = try open()
        let policy = AccessPolicy(rules: [
            AccessRule(.deny, [.subscribe], names: ["secret"], uids: [7])
        ])
        store.setPolicy(policy)
        let uid: UInt32 = isRoot ? 0 : 7
        let letters = try DurableRecord(id: 1, uid: uid, name: "letters", SubscriptionFilter("notifyd.dead.7"))
        let other = try DurableRecord(id: 2, uid: uid, name: "other", SubscriptionFilter("a"))
        let filter = try SubscriptionFilter("a", "notifyd.dead.7")
        let both = DurableRecord(id: 3, uid: uid, name: "both", filter, cursor: 1)
        await store.commit(
            [StoredMessage(1, "notifyd.dead.7"), StoredMessage(2, "a")],
            changes: [.create(letters), .create(other), .create(both)], reserveBelow: 100)
        let found = await backlogs(store, under: policy)
        #expect(found.mapValues(\.messages) == [1: 1, 2: 1, 3: 1])
        #expect(found.mapValues(\.isUpperBound) == [1: !isRoot, 2: false, 3: false])

        let patterns: [NamePattern] = [.everyName, "notifyd.dead.7"]
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: patterns, object: nil), before: .max)
        _ = try await completion { store.purge(request, completion: $0) }.get()
        try store.close(nextSequence: 3)
        let losses = try open().recovered.subscriptions.map(\.loss)
        #expect(losses.map { $0?.count } == [1, 1, 1])
        #expect(losses.map { $0?.isUpperBound } == [!isRoot, false, false])
    }

    @Test func `the backlogs of random subscriptions equal those of a naive count`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let store = try open()
        let names = ["a.1", "a.2", "b.1", "b.2.x", "c"]
        let patterns = ["a.*", "b.>", ">", "a.1", "c", "*.1"]
        var messages: [StoredMessage] = []
        var records: [DurableID: (cursor: UInt64, pattern: NamePattern)] = [:]
        for round in 1...40 {
            var batch: [StoredMessage] = []
            for _ in 0..<Int.random(in: 0..<15, using: &generator) {
                let sequence = (batch.last ?? messages.last)?.sequence ?? 0
                batch.append(
                    StoredMessage(
                        sequence + UInt64.random(in: 1...3, using: &generator),
                        names.randomElement(using: &generator) ?? ""))
            }
            messages += batch
            let id = DurableID(UInt32(round))
            let pattern = try NamePattern(patterns.randomElement(using: &generator) ?? "")
            let end = messages.last?.sequence ?? 0
            let cursor = UInt64.random(in: 0...end, using: &generator)
            let filter = SubscriptionFilter(patterns: [pattern])
            records[id] = (cursor, pattern)
            await store.commit(
                batch, changes: [.create(DurableRecord(id: id, name: "\(round)", filter, cursor: cursor))])
            let found = await backlogs(store)
            #expect(found.count == records.count)
            for (id, record) in records {
                let pending = messages.filter { message in
                    message.sequence > record.cursor
                        && message.name.withUTF8Bytes { record.pattern.matches(utf8: $0) }
                }
                #expect(found[id]?.messages == UInt64(pending.count), "subscription \(id) in round \(round)")
            }
        }
    }

    @Test func `the backlogs of ten thousand subscriptions are counted`() async throws {
        let store = try open()
        let changes: [DurableChange] = try (1...10_000).map { number in
            .create(
                DurableRecord(
                    id: DurableID(number), name: "d\(number)", try SubscriptionFilter("user.\(number).>", "all"),
                    cursor: UInt64(number % 400)))
        }
        await store.commit((1...400).map { StoredMessage($0, "all") }, changes: changes)
        let found = await backlogs(store)
        #expect(found.count == 10_000)
        #expect(found.allSatisfy { $0.value.messages == 400 - UInt64($0.key.rawValue % 400) })
    }
}
