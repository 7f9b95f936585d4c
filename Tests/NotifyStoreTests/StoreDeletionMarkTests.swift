import Glibc
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The deletions that readers of pages learn of: messages that were deleted before the reader could read them.
@Suite(.timeLimit(.minutes(25)))
struct StoreDeletionMarkTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ clock: ManualClock? = nil) throws -> Store {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        if let clock { options.clock = clock.storeClock }
        return try Store.open(path: folder.database, options: options)
    }

    /// A store with 20 messages of "a" and "b" in turn, in segments of four, and its mark.
    private func makeStore(_ clock: ManualClock? = nil) async throws -> (Store, mark: UInt64) {
        let store = try open(clock)
        clock?.advance(by: .seconds(1))
        await store.commit((1...20).map { StoredMessage($0, $0 % 2 == 1 ? "a" : "b") }, reserveBelow: 100)
        return (store, try await read(store, after: 0).deletionMark)
    }

    private func read(
        _ store: Store, _ pattern: NamePattern = "a", object: String? = nil, after: UInt64, through: UInt64 = .max,
        maximum: Int = 100, isDescending: Bool = false, mark: UInt64 = 0
    ) async throws -> Page.Content {
        let request = PageRequest(
            for: .history, filter: SubscriptionFilter(patterns: [pattern], object: object),
            access: .of(uid: 0), after: after, through: through, maximumMessages: maximum, isDescending: isDescending,
            deletionMark: mark)
        return try await completion { store.readPage(request, completion: $0) }.result.get()
    }

    private func purge(_ store: Store, _ pattern: NamePattern, before: UInt64 = .max) async throws {
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: [pattern], object: nil), before: before)
        _ = try await completion { store.purge(request, completion: $0) }.get()
    }

    @Test func `deleted messages that match and lie after the reader's position are reported`() async throws {
        let (store, mark) = try await makeStore()
        try await purge(store, "a", before: 16)
        let content = try await read(store, after: 8, mark: mark)
        #expect(content.block.entries.map(\.sequence) == [17, 19])
        #expect(content.deleted == Loss(first: 9, last: 15, count: 4, isUpperBound: false))
        #expect(content.deletionMark > mark)
        #expect(try await read(store, after: 8).deleted == nil, "without a mark")
        #expect(try await read(store, after: 8, mark: content.deletionMark).deleted == nil, "deleted before the mark")
        #expect(try await read(store, "b", after: 8, mark: mark).deleted == nil)
        #expect(try await read(store, "c", after: 0, mark: mark).deleted == nil)
        #expect(try await read(store, after: 16, mark: mark).deleted == nil, "read before")
    }

    @Test func `a position among the deleted messages, or an object, makes the loss an upper bound`() async throws {
        let (store, mark) = try await makeStore()
        try await purge(store, "a", before: 16)
        let content = try await read(store, after: 9, mark: mark)
        #expect(content.deleted == Loss(first: 10, last: 15, count: 4, isUpperBound: true))
        #expect(try await read(store, object: "o", after: 8, mark: mark).deleted?.isUpperBound == true)
    }

    @Test(arguments: [false, true])
    func `each page reports the deletions in its range, and all pages together report all`(_ isDescending: Bool)
        async throws
    {
        let (store, mark) = try await makeStore()
        try await purge(store, "a", before: 16)
        var (after, through): (UInt64, UInt64) = (0, 20)
        var total: UInt64 = 0
        for _ in 0..<40 where after < through {
            let content = try await read(
                store, ">", after: after, through: through, maximum: 1, isDescending: isDescending, mark: mark)
            total += content.deleted?.count ?? 0
            if let deleted = content.deleted {
                let part = isDescending ? content.scannedThrough...through : (after + 1)...content.scannedThrough
                #expect(part.contains(deleted.first) && part.contains(deleted.last))
            }
            if isDescending { through = content.scannedThrough - 1 } else { after = content.scannedThrough }
        }
        #expect(after >= through && (8...16).contains(total))
    }

    @Test func `deletions by retention, and of single messages, are reported`() async throws {
        let (store, mark) = try await makeStore()
        await store.commit([], changes: [.delete(sequences: [3, 19])])
        #expect(try await read(store, after: 0, mark: mark).deleted?.count == 2)
        var policy = RetentionPolicy()
        var rule = RetentionRule(patterns: [.everyName])
        rule.historyAge = .zero
        policy.configuredRules = [rule]
        store.setRetention(policy)
        store.maintainToEnd()
        let deleted = try await read(store, after: 0, mark: mark).deleted
        #expect(deleted?.first == 1 && deleted?.count ?? 0 >= 8)
    }

    @Test func `a failed batch deletes nothing`() async throws {
        FaultyDisk.watch(folder.path)
        let (store, mark) = try await makeStore()
        FaultyDisk.set(.write, in: folder.path)
        #expect(await store.commit([], changes: [.delete(sequences: [3])], isSynced: true).failure != nil)
        FaultyDisk.set(nil, in: folder.path)
        await store.commit([StoredMessage(21, "a")])
        #expect(try await read(store, after: 0, mark: mark).deleted == nil)
    }

    // MARK: Starts and repairs

    @Test func `without deletions, a start reports none`() async throws {
        let clock = ManualClock()
        let (first, mark) = try await makeStore(clock)
        clock.advance(by: .seconds(1))
        try first.close(nextSequence: 21)
        let store = try open(clock)
        for pattern in ["a", "b", "c", ">"] as [NamePattern] {
            #expect(try await read(store, pattern, after: 0, mark: mark).deleted == nil)
            #expect(try await read(store, pattern, after: 0, isDescending: true, mark: mark).deleted == nil)
        }
    }

    /// The marks of a log that is opened begin at its time, which must not go back with the wall clock.
    @Test func `a deletion after the clock was set back is reported to readers with earlier marks`() async throws {
        let clock = ManualClock()
        clock.setWall(aheadBy: .seconds(86_400))
        let (first, mark) = try await makeStore(clock)
        clock.advance(by: .seconds(1))
        try await purge(first, "a", before: 16)
        // The copy is in the state after a crash: the log's last time is not recorded.
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        clock.setWall(aheadBy: .seconds(-86_400))
        clock.reboot(taking: .seconds(1))
        var options = StoreOptions.withoutTimer
        options.clock = clock.storeClock
        let store = try Store.open(path: crashed.database, options: options)
        let next = try await read(store, after: 8).deletionMark
        try await purge(store, "a", before: 18)
        for mark in [mark, next] {
            #expect(try await read(store, after: 16, mark: mark).deleted?.count == 1)
        }
    }

    @Test(arguments: [true, false]) func `a repair keeps the deletions`(isDatabaseDeleted: Bool) async throws {
        let (store, mark) = try await makeStore()
        try await purge(store, "a", before: 16)
        #expect(unlink(folder.database + (isDatabaseDeleted ? "" : "-wal")) == 0)
        let continuation = LogContinuation(
            reservedBelow: 100, nextSubscriptionID: 1, subscriptions: [],
            messages: [LogBlock([StoredMessage(19, "a"), StoredMessage(20, "b")])])
        let repair = await completion { store.repair(with: continuation, completion: $0) }
        switch repair {
        case .reopened: #expect(!isDatabaseDeleted)
        case .replaced: #expect(isDatabaseDeleted)
        case .notNeeded, .failed: Issue.record("the log was not repaired")
        }
        let content = try await read(store, after: 8, mark: mark)
        #expect(content.block.entries.map(\.sequence) == (isDatabaseDeleted ? [19] : [17, 19]))
        if isDatabaseDeleted {
            let lost = try #require(content.deleted)
            #expect(lost.first == 9 && lost.last == 18 && lost.count >= 5 && lost.isUpperBound)
        } else {
            #expect(content.deleted == Loss(first: 9, last: 15, count: 4, isUpperBound: false))
        }
        #expect(try await read(store, after: 18, mark: mark).deleted == nil)
    }
}
