import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// The expiry of unused durable subscriptions, and failures of retention.
@Suite(.timeLimit(.minutes(25)))
struct ExpiryTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    private func open(
        grace: Duration = .zero, _ change: (inout RetentionPolicy) -> Void
    ) throws -> (Store, Deletions) {
        var options = StoreOptions.withoutTimer
        options.expiryGrace = grace
        options.segmentMessages = 4
        options.clock = clock.storeClock
        change(&options.retention)
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        return (store, deletions)
    }

    private func expired(_ store: Store, _ deletions: Deletions) -> Set<DurableID> {
        _ = deletions.take()
        store.maintainToEnd()
        return deletions.take().expired
    }

    @Test func `a subscription without a client expires after the configured time, also across restarts`() async throws
    {
        var (store, deletions) = try open { $0.subscriptionExpiry = .seconds(600) }
        var progress = DurableProgress(cursor: 0, seenThrough: 0, isAttached: true)
        try await store.commit(
            [],
            changes: [
                .create(DurableRecord(id: 1, name: "detached", SubscriptionFilter("a"))),
                .create(DurableRecord(id: 2, name: "attached", SubscriptionFilter("a"))),
                .create(DurableRecord(id: 3, name: "removed", SubscriptionFilter("a"))),
                .update(id: 2, progress),
            ])
        clock.advance(by: .seconds(599))
        #expect(expired(store, deletions).isEmpty)
        // The cursor moves without a client, as it does for the last acknowledgements of a client that has detached.
        await store.commit([], changes: [.update(id: 1, DurableProgress(cursor: 1, seenThrough: 1)), .remove(id: 3)])
        clock.advance(by: .seconds(1))
        #expect(expired(store, deletions) == [1])
        #expect(expired(store, deletions) == [1], "an expired subscription is reported until it is removed")
        await store.commit([], changes: [.remove(id: 1)])
        #expect(expired(store, deletions).isEmpty)
        progress.isAttached = false
        await store.commit([], changes: [.update(id: 2, progress)])
        clock.advance(by: .seconds(500))
        #expect(expired(store, deletions).isEmpty)
        try store.close(nextSequence: 2)

        clock.reboot(taking: .seconds(50))
        (store, deletions) = try open { $0.subscriptionExpiry = .seconds(600) }
        clock.setWall(aheadBy: .seconds(1_000_000))
        clock.advance(by: .seconds(49))
        #expect(expired(store, deletions).isEmpty, "setting the clock changes nothing")
        clock.advance(by: .seconds(1))
        #expect(expired(store, deletions) == [2])
        store.setRetention(RetentionPolicy())
        #expect(expired(store, deletions).isEmpty, "without a limit, nothing expires")
        try store.close(nextSequence: 2)
    }

    /// - Parameter isUpdated: Whether the same batch also updates the progress of the subscription.
    @Test(arguments: [false, true], [false, true])
    func `a reset or an edit of a subscription counts as its use, also after a restart`(
        _ isReset: Bool, isUpdated: Bool
    ) async throws {
        var (store, deletions) = try open { $0.subscriptionExpiry = .seconds(600) }
        var record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))
        await store.commit([], changes: [.create(record)])
        clock.advance(by: .seconds(599))
        if isReset { record.progress.generation += 1 } else { record.filter = try SubscriptionFilter("b") }
        await store.commit(
            [], changes: [.replace(record)] + (isUpdated ? [.update(id: 1, record.progress)] : []))
        clock.advance(by: .seconds(599))
        #expect(expired(store, deletions).isEmpty)
        try store.close(nextSequence: 1)
        (store, deletions) = try open { $0.subscriptionExpiry = .seconds(600) }
        #expect(expired(store, deletions).isEmpty)
        clock.advance(by: .seconds(1))
        #expect(expired(store, deletions) == [1])
        try store.close(nextSequence: 1)
    }

    @Test func `after a start, clients have time to return before their subscriptions expire`() async throws {
        var (store, deletions) = try open { $0.subscriptionExpiry = .seconds(600) }
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a")))])
        try store.close(nextSequence: 1)
        clock.reboot(taking: .seconds(10_000))
        (store, deletions) = try open(grace: .seconds(300)) { $0.subscriptionExpiry = .seconds(600) }
        clock.advance(by: .seconds(299))
        #expect(expired(store, deletions).isEmpty)
        clock.advance(by: .seconds(1))
        #expect(expired(store, deletions) == [1])
        try store.close(nextSequence: 1)
    }

    @Test func `after a standstill of the process, clients have as much time to return as after a start`() async throws
    {
        let (store, deletions) = try open(grace: .seconds(300)) { $0.subscriptionExpiry = .seconds(600) }
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a")))])
        clock.advance(by: .seconds(599))
        #expect(expired(store, deletions).isEmpty)
        clock.advance(by: StoreOptions.withoutTimer.retentionInterval + .seconds(11))
        #expect(expired(store, deletions).isEmpty)
        clock.advance(by: .seconds(299))
        #expect(expired(store, deletions).isEmpty)
        clock.advance(by: .seconds(1))
        #expect(expired(store, deletions) == [1])
        try store.close(nextSequence: 1)
    }

    @Test(arguments: [60, 299, 301])
    func `no subscription expires within the grace period after a start`(_ expiry: Int) async throws {
        var (store, deletions) = try open { $0.subscriptionExpiry = .seconds(expiry) }
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a")))])
        clock.advance(by: .seconds(expiry - 1))
        try store.close(nextSequence: 1)
        (store, deletions) = try open(grace: .seconds(300)) { $0.subscriptionExpiry = .seconds(expiry) }
        clock.advance(by: .seconds(299))
        #expect(expired(store, deletions).isEmpty)
        clock.advance(by: .seconds(1))
        #expect(expired(store, deletions) == [1])
        try store.close(nextSequence: 1)
    }

    @Test(arguments: [
        (FaultyDisk.Fault.full, StorageFailure.Kind.full), (.write, .inputOutput),
    ])
    func `a failure of retention is reported, and deletes nothing`(
        fault: FaultyDisk.Fault, kind: StorageFailure.Kind
    ) async throws {
        let (store, deletions) = try open { _ in }
        await store.commit((1...9).map { StoredMessage($0, "a") })
        store.maintainToEnd()
        FaultyDisk.set(fault, in: folder.path)
        var rule = RetentionRule(patterns: [">"])
        rule.historyAge = .zero
        store.setRetention(RetentionPolicy(rules: [rule]))
        store.maintainToEnd()
        store.maintainToEnd()
        guard case .failed(let failure)? = deletions.all.health else {
            Issue.record("not reported")
            return
        }
        #expect(failure.kind == kind)
        #expect(deletions.all.usage.isEmpty)
        #expect(try await store.everything(SubscriptionFilter(">")).count == 9)
        _ = deletions.take()
        store.maintainToEnd()
        #expect(deletions.all.isEmpty, "the same failure is reported once")
        FaultyDisk.set(nil, in: folder.path)
        store.maintainToEnd()
        #expect(deletions.all.health == .works)
        #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence) == [9])
        try store.close(nextSequence: 10)
    }

    @Test(arguments: 0..<40)
    func `if the process dies during retention, each unread message is stored or counted as lost`(
        operations: Int
    ) async throws {
        var (store, _) = try open { policy in
            policy.configuredRules = [RetentionRule(patterns: ["a"])]
            policy.configuredRules[0].maximumMessages = 4
            policy.maximumBacklog = .bytes(200)
        }
        try await store.commit(
            (1...40).map { StoredMessage($0, $0 % 2 == 0 ? "a" : "b") },
            changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))], isSynced: true)
        FaultyDisk.set(.death, in: folder.path, after: operations)
        store.maintainToEnd()
        try? store.close(nextSequence: 50)
        FaultyDisk.set(nil, in: folder.path)
        (store, _) = try open { _ in }
        let record = try #require(store.recovered.subscriptions.first)
        let unread = try await store.everything(SubscriptionFilter(">")).map(\.sequence)
            .filter { $0 > record.progress.cursor }
        #expect(UInt64(unread.count) + (record.loss?.count ?? 0) == 40, "each message is stored or lost, not both")
        try store.close(nextSequence: 50)
    }
}
