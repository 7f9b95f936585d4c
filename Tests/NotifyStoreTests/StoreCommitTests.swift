@_spi(Package) import NotifyCenter
import NotifyStore
import NotifyLog
import NotifySystem
import NotifyWire
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(25)))
struct StoreCommitTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `all parts of a message are stored`() async throws {
        var message = StoredMessage(
            5, "a.b", object: "objekt\u{0}é", id: "id-1", headers: [1, 0, 255], payload: (0...255).map { UInt8($0) })
        message.stamp = [UInt64(Int64.max), UInt64(UInt32.max), 0, UInt64(UInt32.max)]
        let bare = StoredMessage(6, "a.b", payload: [])
        let store = try Store.open(path: folder.database)
        let outcome = await store.commit([message, bare])
        #expect(outcome.failure == nil)
        #expect(outcome.statistics.logMessages == 2)
        #expect(try await store.everything(SubscriptionFilter("a.b")) == [message, bare])
        try store.close(nextSequence: 7)
    }

    @Test func `a failed batch stores nothing`() async throws {
        let filter = try SubscriptionFilter("new.>")
        var options = StoreOptions()
        options.segmentMessages = 1
        let store = try Store.open(path: folder.database, options: options)
        await store.commit([StoredMessage(4095, "old")], changes: [.create(DurableRecord(id: 1, name: "one", filter))])
        // The batch closes three segments and adds two names, and then fails because a subscription's name is already
        // used.
        let failed = await store.commit(
            [StoredMessage(4096, "new.a"), StoredMessage(9000, "new.b"), StoredMessage(13_000, "old")],
            changes: [.create(DurableRecord(id: 2, name: "one", filter))], reserveBelow: 1 << 30)
        #expect(failed.failure?.kind == .inputOutput)
        #expect(failed.statistics.logMessages == 1)
        #expect(failed.statistics.commits == 1)
        #expect(try await store.page(filter).scannedThrough == 4095)

        // The name "other" gets the id that "new.a" had in the failed batch. Filters must not take "other" for "new.a".
        let kept = [StoredMessage(4096, "other"), StoredMessage(9001, "new.b"), StoredMessage(13_001, "new.a")]
        #expect(await store.commit(kept).failure == nil)
        #expect(try await store.everything(filter) == Array(kept.dropFirst()))
        #expect(try await store.everything(SubscriptionFilter("other"), subscription: 2) == [kept[0]])
        #expect(try await store.everything(SubscriptionFilter("old"), subscription: 3) == [StoredMessage(4095, "old")])

        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 13_002)
        let again = try Store.open(path: crashed.database)
        #expect(again.recovered.nextSequence == 13_002)
        #expect(again.recovered.subscriptions.map(\.id) == [1])
        #expect(try await again.everything(filter) == Array(kept.dropFirst()))
        try again.close(nextSequence: 13_002)
    }

    @Test func `sequences that do not increase are refused`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(5)])
        #expect(await store.commit([StoredMessage(5)]).failure != nil)
        #expect(await store.commit([StoredMessage(7), StoredMessage(6)]).failure != nil)
        #expect(await store.commit([StoredMessage(6)]).failure == nil)
        try store.close(nextSequence: 8)
    }

    @Test func `several blocks form one commit`() async throws {
        let store = try Store.open(path: folder.database)
        let blocks = [LogBlock([StoredMessage(1)]), LogBlock(), LogBlock([StoredMessage(2), StoredMessage(3)])]
        let outcome = await store.commit(CommitBatch(id: 42, blocks: blocks))
        #expect(outcome.batchID == 42)
        #expect(outcome.statistics.commits == 1)
        #expect(outcome.statistics.logMessages == 3)
        try store.close(nextSequence: 4)
    }

    @Test func `flushed commits are counted`() async throws {
        let store = try Store.open(path: folder.database)
        #expect(await store.commit([StoredMessage(1)]).statistics.syncs == 0)
        #expect(await store.commit([StoredMessage(2)], isSynced: true).statistics.syncs == 1)
        #expect(await store.commit([], reserveBelow: 100).statistics.syncs == 2)
        let last = await store.commit([StoredMessage(3)]).statistics
        #expect(last.syncs == 2)
        #expect(last.commits == 4)
        #expect(last.logBytes > 0)
        #expect(last.walBytes > 0)
        try store.close(nextSequence: 4)
    }

    @Test func `outcomes and pages are reported in the order of the requests`() async throws {
        let store = try Store.open(path: folder.database)
        let filter = try SubscriptionFilter(">")
        let order = Lock<[UInt64]>([])
        await withCheckedContinuation { continuation in
            for round in 1...50 as ClosedRange<UInt64> {
                store.commit(CommitBatch(id: round, blocks: [LogBlock([StoredMessage(round)])])) { outcome in
                    order.withLock { $0.append(outcome.batchID) }
                }
                let request = PageRequest(
                    for: .history, filter: filter, access: .of(uid: 0), after: round - 1, maximumMessages: 10)
                store.readPage(request) { page in
                    // The page contains the commit that was requested before the page, but not the next commit.
                    #expect((try? page.result.get().scannedThrough) == round)
                    order.withLock { $0.append(round) }
                    if round == 50 { continuation.resume() }
                }
            }
        }
        #expect(order.withLock { $0 } == (1...50).flatMap { [$0, $0] })
        try store.close(nextSequence: 51)
    }

    @Test func `a log at its size limit refuses only messages`() async throws {
        var options = StoreOptions()
        options.retention.maximumBytes = 200 * 1024
        options.retention.maximumBacklog = .unlimited
        let store = try Store.open(path: folder.database, options: options)
        // Without a subscription, the messages would be history, which is deleted for new posts.
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter(">"))
        #expect(await store.commit([], changes: [.create(record)]).failure == nil)
        var sequence: UInt64 = 0
        var failure: StorageFailure?
        while failure == nil, sequence < 1000 {
            sequence += 1
            failure = await store.commit([StoredMessage(sequence, payload: Array(repeating: 1, count: 2000))]).failure
        }
        #expect(failure?.kind == .full)
        #expect((50..<100).contains(sequence))
        let other = try DurableRecord(id: 2, name: "two", SubscriptionFilter(">"))
        #expect(await store.commit([], changes: [.create(other)], reserveBelow: 10_000).failure == nil)
        #expect(try await store.everything(record.filter).count == Int(sequence) - 1)
        try store.close(nextSequence: sequence)

        options.retention.maximumBytes = nil
        let again = try Store.open(path: folder.database, options: options)
        #expect(await again.commit([StoredMessage(sequence)]).failure == nil)
        try again.close(nextSequence: sequence + 1)
    }

    @Test func `the size of the write-ahead log is bounded`() async throws {
        var options = StoreOptions()
        options.checkpointBytes = 256 * 1024
        let store = try Store.open(path: folder.database, options: options)
        var largest: UInt64 = 0
        for batch in 0..<200 as Range<UInt64> {
            let messages = (1...20).map { StoredMessage(batch * 20 + $0, payload: Array(repeating: 1, count: 1000)) }
            largest = max(largest, await store.commit(messages).statistics.walBytes)
        }
        #expect(largest < 512 * 1024)
        try store.close(nextSequence: 4001)
    }

    @Test func `a closed store refuses requests`() async throws {
        let store = try Store.open(path: folder.database)
        try store.close(nextSequence: 1)
        #expect(await store.commit([StoredMessage(1)]).failure?.kind == .inputOutput)
        await #expect(throws: StorageFailure.self) { try await store.page(SubscriptionFilter(">")) }
        #expect(throws: StoreError.self) { try store.close(nextSequence: 1) }
    }
}
