import NotifyLog
import NotifyStore
import TestSupport
import Testing

/// The losses of new durable subscriptions: messages that were deleted before the subscription was created.
@Suite(.timeLimit(.minutes(25)))
struct EarlierDeletionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `the loss of a new subscription counts the messages that were deleted after its start`() async throws {
        let store = try Store.open(path: folder.database, options: .withoutTimer)
        let names = ["a", "b", "a", "user.1000.x", "a"]
        for (index, name) in names.enumerated() {
            #expect(await store.commit([StoredMessage(UInt64(index + 1), name)]).failure == nil)
        }
        for (pattern, before) in [("a", 4), ("user.>", 5)] as [(String, UInt64)] {
            let request = PurgeRequest(filter: try SubscriptionFilter(pattern), before: before)
            _ = try await completion { store.purge(request, completion: $0) }.get()
        }
        store.setPolicy(AccessPolicy())
        func record(_ id: DurableID, _ patterns: [String], after cursor: UInt64) throws -> DurableRecord {
            DurableRecord(
                id: id, uid: 2000, name: "\(id.rawValue)", try SubscriptionFilter(patterns[0], object: nil),
                cursor: cursor, startedAfter: cursor)
        }
        let records = try [
            record(1, ["a"], after: 0), record(2, ["a"], after: 2), record(3, ["a"], after: 4),
            record(4, ["b"], after: 0), record(5, [">"], after: 3),
        ]
        for record in records {
            #expect(await store.commit([], changes: [.create(record), .countDeleted(record)]).failure == nil)
        }
        try store.close(nextSequence: 6)
        let again = try Store.open(path: folder.database)
        let losses = again.recovered.subscriptions.sorted { $0.id < $1.id }.map(\.loss)
        #expect(losses.map { $0?.count } == [2, 1, nil, nil, nil], "the last subscription may not receive user.1000.x")
        #expect(losses[0]?.first == 1 && losses[0]?.last == 3)
        try again.close(nextSequence: 6)
    }
}
