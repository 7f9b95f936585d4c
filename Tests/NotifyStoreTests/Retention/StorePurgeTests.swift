import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Deleting stored messages on request.
@Suite(.timeLimit(.minutes(25)))
struct StorePurgeTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ folder: TemporaryFolder) throws -> (Store, Deletions) {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        return (store, deletions)
    }

    private func purge(
        _ store: Store, _ patterns: [String], before: UInt64 = .max
    ) async throws -> PurgeResult {
        let patterns = try patterns.map { try NamePattern($0) }
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: patterns, object: nil), before: before)
        return try await completion { store.purge(request, completion: $0) }.get()
    }

    private func kept(_ store: Store) async throws -> [UInt64] {
        try await store.everything(SubscriptionFilter(">")).map(\.sequence)
    }

    private var messages: [StoredMessage] {
        (1...14).map { number in
            var message = StoredMessage(
                UInt64(number), number.isMultiple(of: 3) ? "b" : "a", object: number == 5 ? "o" : "",
                payload: [UInt8](repeating: 0, count: number))
            message.stamp[1] = number.isMultiple(of: 2) ? 1000 : 2000
            return message
        }
    }

    @Test(arguments: 1...16)
    func `matching messages before a sequence are deleted, and all counts agree`(before: Int) async throws {
        for pattern in ["a", "b", ">", "none"] {
            let folder = try TemporaryFolder()
            let (store, deletions) = try open(folder)
            await store.commit(messages)
            let result = try await purge(store, [pattern], before: UInt64(before))
            let isGone = { (message: StoredMessage) in
                message.sequence < before && (pattern == ">" || message.name == pattern)
            }
            let (gone, left) = (messages.filter(isGone), messages.filter { !isGone($0) })
            #expect(try await kept(store) == left.map(\.sequence))
            #expect(result.messages == UInt64(gone.count) && result.subscriptions.isEmpty)
            #expect(result.bytes == UInt64(gone.usage.values.reduce(0) { $0 + $1.bytes }))
            #expect(deletions.all.usage == gone.usage)
            let summary = try await completion {
                store.summarize(
                    SummaryRequest(
                        filter: SubscriptionFilter(patterns: [.everyName], object: nil), access: .of(uid: 0), first: 1,
                        last: .max, maximumNames: 9), completion: $0)
            }.get()
            #expect(summary.names.reduce(0) { $0 + $1.totals.messages } == UInt64(left.count))
            #expect(await store.commit([]).statistics.logMessages == UInt64(left.count))
            try store.close(nextSequence: 20)
            let again = try Store.open(path: folder.database)
            #expect(again.recovered.usage == left.usage)
            #expect(again.recovered.failure == nil)
            #expect(try await kept(again) == left.map(\.sequence))
            try again.close(nextSequence: 20)
        }
    }

    @Test func `subscriptions lose the messages that they have not acknowledged`() async throws {
        let (store, deletions) = try open(folder)
        await store.commit(
            (1...10).map { StoredMessage($0, "a") },
            changes: [
                .create(DurableRecord(id: 1, name: "behind", try SubscriptionFilter("a"))),
                .create(DurableRecord(id: 2, name: "ahead", try SubscriptionFilter("a"))),
                .create(DurableRecord(id: 3, name: "other", try SubscriptionFilter("b"))),
            ])
        let progress = DurableProgress(
            cursor: 2, seenThrough: 2, acknowledged: [SequenceRange(first: 4, last: 4)])
        await store.commit(
            [],
            changes: [
                .update(id: 1, progress), .update(id: 2, DurableProgress(cursor: 10, seenThrough: 10)),
            ])
        let result = try await purge(store, [">"], before: 8)
        #expect(result.messages == 7 && result.subscriptions == [1])
        // The messages 3, 5, 6 and 7.
        #expect(deletions.all.losses == [1: Loss(first: 3, last: 7, count: 4, isUpperBound: false)])
        #expect(deletions.all.isPurge)
        try store.close(nextSequence: 11)
        #expect(try folder.rows("SELECT subscription FROM losses") == ["1"])
    }

    @Test func `a subscription does not lose messages that its owner may not receive`() async throws {
        let (store, deletions) = try open(folder)
        store.setPolicy(AccessPolicy())
        await store.commit(
            [
                StoredMessage(1, "a"), StoredMessage(2, "user.1000.x"), StoredMessage(3, "user.2000.x"),
                StoredMessage(4, "user.2000.y"),
            ],
            changes: [
                .create(DurableRecord(id: 1, uid: 1000, name: "all", try SubscriptionFilter(">"))),
                .create(DurableRecord(id: 2, uid: 0, name: "all", try SubscriptionFilter(">"))),
                .create(DurableRecord(id: 3, uid: 3000, name: "theirs", try SubscriptionFilter("user.>"))),
            ])
        #expect(try await purge(store, [">"]).subscriptions == [1, 2])
        #expect(deletions.all.losses.mapValues(\.count) == [1: 2, 2: 4])
        try store.close(nextSequence: 5)
    }

    @Test func `a purge reports the ranges that contain no messages any more`() async throws {
        let (store, deletions) = try open(folder)
        await store.commit((1...10).map { StoredMessage($0, $0 == 6 ? "b" : "a") })
        _ = try await purge(store, ["a"], before: 10)
        #expect(deletions.all.emptied.allSatisfy { !($0.first...$0.last).contains(6) && $0.last < 10 })
        _ = try await purge(store, [">"])
        let emptied = deletions.all.emptied
        #expect((1...10).allSatisfy { sequence in emptied.contains { ($0.first...$0.last).contains(sequence) } })
    }

    /// While a client is attached, only the broker knows which messages were delivered. A killed daemon loses this
    /// knowledge, so the stored loss is an upper bound.
    @Test func `a message that may have been delivered makes the loss an upper bound`() async throws {
        let (store, deletions) = try open(folder)
        await store.commit(
            (1...10).map { StoredMessage($0, "a") },
            changes: try [1, 2, 3].map { id in
                .create(DurableRecord(id: DurableID(id), name: "\(id)", try SubscriptionFilter("a")))
            })
        await store.commit(
            [],
            changes: [
                .update(id: 1, DurableProgress(cursor: 2, seenThrough: 3)),
                .update(id: 2, DurableProgress(cursor: 3, seenThrough: 3)),
                .update(id: 3, DurableProgress(cursor: 3, seenThrough: 3, isAttached: true)),
            ])
        _ = try await purge(store, [">"], before: 8)
        let losses = deletions.all.losses
        #expect([1, 2, 3].map { losses[DurableID($0)]?.isUpperBound } == [true, false, false])
        try store.close(nextSequence: 11)
        let bounds = try folder.rows("SELECT is_upper_bound FROM losses ORDER BY subscription")
        #expect(bounds == ["1", "0", "1"])
    }

    @Test func `messages that are stored during a purge remain`() async throws {
        let (store, _) = try open(folder)
        await store.commit((1...4000).map { StoredMessage($0, "a") })
        async let purging = purge(store, ["a"])
        var sequence: UInt64 = 4000
        for _ in 0..<20 {
            sequence += 1
            #expect(await store.commit([StoredMessage(sequence, "a")]).failure == nil)
        }
        let result = try await purging
        let left = try await kept(store)
        #expect(result.messages + UInt64(left.count) == sequence)
        #expect(left == Array((sequence - UInt64(left.count) + 1)...sequence))
    }

    @Test func `after a purge, names without messages are removed`() async throws {
        let (store, deletions) = try open(folder)
        await store.commit(messages)
        _ = try await purge(store, ["b"])
        store.maintainToEnd()
        #expect(deletions.all.names == [Array("b".utf8)])
    }

    @Test func `an empty log has nothing to delete`() async throws {
        let (store, _) = try open(folder)
        #expect(try await purge(store, [">"]) == PurgeResult())
    }
}
