import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// The limit of a user's backlog, which consists of the messages that the user's durable subscriptions hold back.
@Suite(.timeLimit(.minutes(25)))
struct BacklogTests {
    let folder: TemporaryFolder
    let size = UInt64([StoredMessage(1, "a")].usage.values.reduce(0) { $0 + $1.bytes })

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(limit: UInt64) throws -> (Store, Deletions) {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        options.retention.maximumBacklog = .bytes(limit)
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        return (store, deletions)
    }

    @Test func `the subscriptions of a user lose the oldest messages above the limit`() async throws {
        var (store, deletions) = try open(limit: size * 10)
        let records = try [
            DurableRecord(id: 1, uid: 1, name: "all", SubscriptionFilter(">")),
            DurableRecord(id: 2, uid: 1, name: "a", SubscriptionFilter("a", object: "o"), cursor: 2),
            DurableRecord(id: 3, uid: 1, name: "late", SubscriptionFilter("a"), cursor: 38),
            DurableRecord(id: 4, uid: 2, name: "other", SubscriptionFilter("a"), cursor: 24),
        ]
        await store.commit(
            (1...40).map { StoredMessage($0, $0 % 2 == 0 ? "a" : "b") }, changes: records.map { .create($0) })
        store.maintainToEnd()
        let all = deletions.all
        // At most ten messages may be held back. Those of one closed segment and of the open one are eight.
        #expect(all.released == [1: 32, 2: 32])
        #expect(all.losses[1] == Loss(first: 1, last: 32, count: 32, isUpperBound: false))
        #expect(all.losses[2] == Loss(first: 4, last: 32, count: 15, isUpperBound: true))
        #expect(all.losses.count == 2)
        #expect(all.usage.isEmpty, "the messages stay as history, and for others")
        #expect(try await store.everything(SubscriptionFilter(">")).count == 40)
        store.maintainToEnd()
        #expect(deletions.all == all)
        let statistics = await store.commit([]).statistics
        #expect(statistics.backlogLimit == size * 10)
        #expect(statistics.backlogs[1] == size * 8)

        // The broker might not know yet that messages were released.
        var late = records[0].progress
        late.acknowledged = [SequenceRange(first: 10, last: 12), SequenceRange(first: 30, last: 34)]
        await store.commit([], changes: [.update(id: 1, late)])
        try store.close(nextSequence: 50)
        (store, deletions) = try open(limit: size * 10)
        let recovered = store.recovered.subscriptions
        #expect(recovered.map(\.progress.cursor) == [32, 32, 38, 24])
        #expect(recovered[0].progress.acknowledged == [SequenceRange(first: 33, last: 34)])
        #expect(recovered.map(\.loss) == [all.losses[1], all.losses[2], nil, nil])
        late.generation = 1
        await store.commit([], changes: [.update(id: 1, late)])
        try store.close(nextSequence: 50)
        (store, deletions) = try open(limit: size * 100)
        #expect(store.recovered.subscriptions[0].progress.cursor == 0, "a reset moves the cursor back")
        store.maintainToEnd()
        #expect(deletions.all.isEmpty)
        try store.close(nextSequence: 50)
    }

    @Test func `a backlog at the limit stays`() async throws {
        let (store, deletions) = try open(limit: size * 40)
        try await store.commit(
            (1...40).map { StoredMessage($0, "a") },
            changes: [
                .create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))),
                .create(DurableRecord(id: 2, name: "two", SubscriptionFilter(">"))),
            ])
        store.maintainToEnd()
        #expect(deletions.all.isEmpty, "messages that two subscriptions hold back count once")
        await store.commit([StoredMessage(41, "a")])
        store.maintainToEnd()
        #expect(deletions.all.released == [1: 4, 2: 4])
        try store.close(nextSequence: 50)
    }

    @Test func `copies of a user's subscriptions count towards the limit, also after a restart`() async throws {
        var (store, deletions) = try open(limit: size * 40)
        try await store.commit(
            (1...40).map { StoredMessage($0, "a") },
            changes: [
                .create(DurableRecord(id: 1, uid: 1, name: "one", SubscriptionFilter("a"))),
                .keep(id: 1, Redelivery(sequence: 2, failures: 1, bytes: 0), reason: ""),
            ])
        try store.close(nextSequence: 50)
        (store, deletions) = try open(limit: size * 40)
        store.maintainToEnd()
        #expect(deletions.all.released == [1: 4])
        await store.commit([StoredMessage(41, "b")], copyBytes: [1: Int(size * 20), 2: Int(size * 90)])
        store.maintainToEnd()
        #expect(deletions.all.released == [1: 20])
        #expect(await store.commit([]).statistics.backlogs[2] == size * 90)
        try store.close(nextSequence: 50)
    }

    @Test func `the names of each user are counted at a start`() async throws {
        var (store, _) = try open(limit: size * 40)
        var messages = (1...20).map { StoredMessage($0, "name.\($0 % 7)") }
        for index in messages.indices.suffix(6) { messages[index].stamp[1] = 5 }
        await store.commit(messages)
        try store.close(nextSequence: 50)
        (store, _) = try open(limit: size * 40)
        #expect(store.recovered.names.mapValues(\.count) == [1000: 7, 5: 6])
        #expect(store.recovered.names[5]?.bytes == 6 * (6 + StoredNameSet.bytesPerName))
        try store.close(nextSequence: 50)
    }
}
