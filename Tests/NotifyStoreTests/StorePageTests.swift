import NotifyCenter
import NotifyStore
import NotifyLog
import NotifyWire
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(25)))
struct StorePageTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func store(_ messages: [StoredMessage], options: StoreOptions = .withoutTimer) async throws -> Store {
        let store = try Store.open(path: folder.database, options: options)
        #expect(await store.commit(messages).failure == nil)
        return store
    }

    @Test func `a page of an empty log ends at sequence 0`() async throws {
        let store = try await store([])
        let page = try await store.page(SubscriptionFilter(">"))
        #expect(page.block.entries.isEmpty)
        #expect(page.scannedThrough == 0)
        #expect(try await store.page(SubscriptionFilter(">"), after: 77).scannedThrough == 0)
        try store.close(nextSequence: 1)
    }

    @Test(arguments: [(1, 2), (4095, 4096), (4096, 4097), (5000, 5001)] as [(UInt64, UInt64)])
    func `a page ends at the last requested sequence`(after: UInt64, through: UInt64) async throws {
        let store = try await store((1...3000).map { StoredMessage($0 * 2, "a", payload: []) })
        let before = store.readWork().rowsScanned
        let page = try await store.page(SubscriptionFilter("a"), after: after, through: through)
        #expect(page.block.entries.map(\.sequence) == (through.isMultiple(of: 2) ? [through] : []))
        #expect(page.scannedThrough == through)
        #expect(store.readWork().rowsScanned - before == UInt64(page.block.entries.count))
        try store.close(nextSequence: 10_000)
    }

    @Test(arguments: [999, 1000, 1001])
    func `a page scans at most a thousand rows`(count: Int) async throws {
        // The sequences have gaps, so that the number of rows and the number of sequences differ. The limit counts
        // rows.
        let messages = (1...UInt64(count)).map { StoredMessage($0 * 2, "a", payload: []) }
        let store = try await store(messages)
        for pattern in ["a", "none"] {
            let page = try await store.page(SubscriptionFilter(pattern, object: pattern == "none" ? "x" : nil))
            #expect(page.block.entries.count == (pattern == "a" ? min(count, 1000) : 0))
        }
        let page = try await store.page(SubscriptionFilter("a"), subscription: 3)
        #expect(page.scannedThrough == UInt64(min(count, 1000)) * 2)
        // No message has this object, but the rows are scanned.
        let other = try await store.page(SubscriptionFilter("a", object: "x"), subscription: 4)
        #expect(other.block.entries.isEmpty)
        #expect(other.scannedThrough == UInt64(min(count, 1000)) * 2)
        try store.close(nextSequence: 5000)
    }

    @Test(arguments: [9, 10, 11])
    func `a page has at most the requested number of messages`(count: Int) async throws {
        let store = try await store(
            (1...UInt64(count)).flatMap { [StoredMessage($0 * 2 - 1, "a"), StoredMessage($0 * 2, "b")] })
        for (subscription, pattern) in [(1, "a"), (2, ">")] as [(UInt32, String)] {
            let page = try await store.page(SubscriptionFilter(pattern), maximum: 10, subscription: subscription)
            #expect(page.block.entries.count == min(10, pattern == "a" ? count : count * 2))
            if page.block.entries.count == 10 { #expect(page.scannedThrough == page.block.entries.last?.sequence) }
        }
        let none = try await store.page(SubscriptionFilter(">"), after: 3, maximum: 0)
        #expect(none.block.entries.isEmpty)
        #expect(none.scannedThrough == 3)
        try store.close(nextSequence: 50)
    }

    @Test(arguments: [-1, 0, 1])
    func `a page has at most its maximum number of bytes`(more: Int) async throws {
        let overhead = FrameHeader.size + Delivery.fixedSize + 1
        let half = 128 * 1024 - overhead
        let store = try await store([
            StoredMessage(1, "a", payload: Array(repeating: 1, count: half)),
            StoredMessage(2, "a", payload: Array(repeating: 2, count: half + more)),
            StoredMessage(3, "b"),
        ])
        for (subscription, pattern) in [(1, ">"), (2, "a")] as [(UInt32, String)] {
            let page = try await store.page(SubscriptionFilter(pattern), subscription: subscription)
            #expect(
                page.block.entries.map(\.sequence) == (more > 0 ? [1] : more < 0 && pattern == ">" ? [1, 2] : [1, 2]))
            if more > 0 { #expect(page.scannedThrough == 1) }
        }
        try store.close(nextSequence: 4)
    }

    @Test func `a message larger than a page is returned alone`() async throws {
        let large = Array(repeating: UInt8(7), count: 1024 * 1024)
        let messages = [
            StoredMessage(1, "a", payload: large), StoredMessage(2, "a", payload: large), StoredMessage(3, "b"),
        ]
        let store = try await store(messages)
        let first = try await store.page(SubscriptionFilter(">"))
        #expect(first.block.messages == [messages[0]])
        #expect(first.scannedThrough == 1)
        let second = try await store.page(SubscriptionFilter(">"), after: 1)
        #expect(second.block.messages == [messages[1]])
        #expect(try await store.everything(SubscriptionFilter(">"), subscription: 2) == messages)
        try store.close(nextSequence: 4)
    }

    @Test func `filters select by name, object and rights`() async throws {
        let messages = [
            StoredMessage(1, "orders.created", object: "a"), StoredMessage(2, "orders.created", object: "b"),
            StoredMessage(3, "orders.eu.created", object: "a"), StoredMessage(4, "orders"),
            StoredMessage(5, "user.7.mail"), StoredMessage(6, "notifyd.started"), StoredMessage(7, "x.orders.created"),
        ]
        let store = try await store(messages)
        let cases: [(SubscriptionFilter, UInt32, [UInt64])] = [
            (try SubscriptionFilter("orders.*"), 0, [1, 2]),
            (try SubscriptionFilter("orders.>"), 0, [1, 2, 3]),
            (try SubscriptionFilter("orders.>", object: "a"), 0, [1, 3]),
            (try SubscriptionFilter("orders.*", "orders.created", object: "b"), 0, [2]),
            (try SubscriptionFilter("orders.>", object: "A"), 0, []),
            (try SubscriptionFilter("*.*.created"), 0, [3, 7]),
            (try SubscriptionFilter(">"), 8, [1, 2, 3, 4, 7]),
            (try SubscriptionFilter(">"), 7, [1, 2, 3, 4, 5, 7]),
            (try SubscriptionFilter("notifyd.*", "orders"), 0, [4, 6]),
            (try SubscriptionFilter("absent"), 0, []),
        ]
        for (index, (filter, uid, expected)) in cases.enumerated() {
            let page = try await store.page(filter, subscription: UInt32(index) + 1, access: .of(uid: uid))
            #expect(page.block.entries.map(\.sequence) == expected)
            #expect(page.block.messages == messages.filter { expected.contains($0.sequence) })
            #expect(page.scannedThrough == 7)
        }
        try store.close(nextSequence: 8)
    }

    @Test func `names matched under other rights are matched again`() async throws {
        let store = try await store([StoredMessage(1, "user.7.a"), StoredMessage(2, "b")])
        let filter = try SubscriptionFilter(">")
        #expect(try await store.page(filter, access: .of(uid: 7)).block.entries.map(\.sequence) == [1, 2])
        #expect(try await store.page(filter, access: .of(uid: 8)).block.entries.map(\.sequence) == [2])
        let matched = await work(of: store).namesMatched
        _ = try await store.page(filter, access: .of(uid: 8))
        #expect(await work(of: store).namesMatched == matched, "the same rights")
        _ = try await store.page(filter, access: .of(uid: 8, generation: 1))
        #expect(await work(of: store).namesMatched == matched + 2, "another policy")
        try store.close(nextSequence: 3)
    }

    @Test func `segments without a matching name are skipped`() async throws {
        // Ten closed segments and an open one. The fourth segment and the open segment each contain one rare message.
        let rare: Set<UInt64> = [3 * 4096 + 17, 10 * 4096 + 3]
        let messages = (1...(10 * 4096 + 10)).map {
            StoredMessage($0, rare.contains($0) ? "rare" : "common", payload: [])
        }
        let store = try await store(messages)
        #expect(try await store.everything(SubscriptionFilter("rare")).map(\.sequence) == rare.sorted())
        let work = await work(of: store)
        #expect(work.segmentsSkipped == 9)
        #expect(work.rowsScanned == 4096 + 10)
        #expect(work.namesMatched == 2)

        let nothing = try await store.page(SubscriptionFilter("absent"), subscription: 2)
        #expect(nothing.scannedThrough == 10 * 4096 + 10)
        #expect(await self.work(of: store).rowsScanned == work.rowsScanned)
        #expect(await self.work(of: store).segmentsSkipped == work.segmentsSkipped + 11)
        try store.close(nextSequence: 50_000)
    }

    @Test func `the number of skipped segments is bounded`() async throws {
        // A pass of retention would close the open segment.
        var options = StoreOptions.withoutTimer
        options.pageSegments = 3
        options.segmentMessages = 1
        let store = try await store((1...10).map { StoredMessage($0, "common") }, options: options)
        var positions: [UInt64] = [0]
        while let position = positions.last, positions.count < 10 {
            let page = try await store.page(SubscriptionFilter("rare"), after: position)
            guard page.scannedThrough > position else { break }
            positions.append(page.scannedThrough)
        }
        let ends: [UInt64] = [0, 3, 6, 10]
        #expect(positions == ends)
        try store.close(nextSequence: 50_000)
    }

    @Test func `names added later are matched`() async throws {
        let store = try await store([StoredMessage(1, "a.one")])
        let filter = try SubscriptionFilter("a.*")
        #expect(try await store.page(filter).block.entries.count == 1)
        await store.commit([StoredMessage(2, "b"), StoredMessage(3, "a.two"), StoredMessage(5000, "a.three")])
        #expect(try await store.page(filter, after: 1).block.entries.map(\.sequence) == [3, 5000])
        #expect(await work(of: store).namesMatched == 4)
        try store.close(nextSequence: 5001)
    }

    @Test func `match caches are bounded and end with the subscription`() async throws {
        var options = StoreOptions()
        options.filterMemoryBytes = 1
        let store = try await store([StoredMessage(1, "a"), StoredMessage(2, "b")], options: options)
        for _ in 0..<2 { #expect(try await store.everything(SubscriptionFilter("a")).count == 1) }
        #expect(await work(of: store).namesMatched == 4)
        try store.close(nextSequence: 3)

        let again = try Store.open(path: folder.database)
        #expect(try await again.everything(SubscriptionFilter("a")).count == 1)
        await again.commit([], changes: [.remove(id: 1)])
        #expect(try await again.everything(SubscriptionFilter("b")).map(\.sequence) == [2])
        try again.close(nextSequence: 3)
    }

    private func work(of store: Store) async -> ReadWork {
        store.readWork()
    }
}
