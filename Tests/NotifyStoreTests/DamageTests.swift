import Foundation
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Databases in which bits were flipped on disk.
@Suite(.timeLimit(.minutes(25)))
struct DamageTests {
    @Test(arguments: [
        "payload = x'00'", "key = key + (1 << 32)", "key = key + (76 << 32)", "key = key - 1", "time = time + 1",
        "process = process + 1", "process = process + (1 << 32)", "checksums = checksums + 1", "object = 'x'",
        "id = 'x'", "headers = x'01'", "object = CAST(zeroblob(300) AS TEXT)",
    ])
    func `a damaged message is skipped and reported`(damage: String) async throws {
        let folder = try TemporaryFolder()
        var store = try Store.open(path: folder.database)
        let messages = (1...5).map { StoredMessage($0, $0 == 5 ? "b" : "a") }
        await store.commit(messages)
        try store.close(nextSequence: 6)
        try folder.execute("UPDATE messages SET \(damage) WHERE sequence = 3")
        store = try Store.open(path: folder.database)
        let page = try await store.page(SubscriptionFilter(">"))
        #expect(page.block.messages == messages.filter { $0.sequence != 3 })
        #expect(page.damaged == [3])
        #expect(page.scannedThrough == 5)
        try store.close(nextSequence: 6)
    }

    @Test(
        arguments: [
            "key = key + (1 << 32)", "key = key + (2 << 32)", "key = key + 1", "object = 'y'", "object = NULL",
            "checksums = checksums + (1 << 32)",
        ],
        [3, 100])
    func `every reader gets a gap for a message with damaged key columns`(
        damage: String, segmentMessages: Int
    ) async throws {
        let folder = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = segmentMessages
        var store = try Store.open(path: folder.database, options: options)
        let messages = ["a", "b", "a", "c", "b", "a"].enumerated().map { index, name in
            StoredMessage(UInt64(index) + 1, name, object: "x")
        }
        await store.commit(messages)
        try store.close(nextSequence: 7)
        try folder.execute("UPDATE messages SET \(damage) WHERE sequence = 3")
        options.segmentMessages = 3
        for round in 0..<3 {
            store = try Store.open(path: folder.database, options: options)
            for (name, object) in [("a", nil), ("a", "x"), ("b", "x")] {
                // Each filter has its own subscription, because a subscription has one cache of matches.
                let page = try await store.page(
                    SubscriptionFilter(name, object: object), subscription: name == "b" ? 9 : object == nil ? 7 : 8)
                #expect(page.damaged == [3], "round \(round)")
                #expect(page.block.messages == messages.filter { $0.name == name && $0.sequence != 3 })
            }
            // This commit closes the open segment.
            if round == 0 { await store.commit([StoredMessage(7, "c"), StoredMessage(8, "c")]) }
            try store.close(nextSequence: 20)
        }
    }

    @Test(arguments: [
        "UPDATE segments SET last = last + 1", "UPDATE segments SET entries = x'00'", "UPDATE names SET name = 'x'",
        "UPDATE state SET next_sequence = 3", "UPDATE state SET boot_id = 'x'", "UPDATE state SET log_id = x'00'",
        "UPDATE state SET epoch = epoch + 1", "UPDATE subscriptions SET used = used + 1 WHERE id = 1",
        "DELETE FROM state", "UPDATE subscriptions SET uid = 1 WHERE id = 1",
        "UPDATE subscriptions SET name = 'x' WHERE id = 1", "UPDATE subscriptions SET patterns = 'x' WHERE id = 1",
        "UPDATE subscriptions SET gid = 1 WHERE id = 1", "UPDATE subscriptions SET cursor = 1 WHERE id = 1",
        "UPDATE subscriptions SET attached = 1 - attached WHERE id = 1", "UPDATE losses SET count = 9",
        "DROP TABLE names",
    ])
    func `with damage of other tables, posts that must be stored are refused`(damage: String) async throws {
        let folder = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 2
        var lossy = try DurableRecord(id: 1, name: "lossy", SubscriptionFilter("a"))
        lossy.loss = Loss(first: 1, last: 2, count: 1, isUpperBound: false)
        let sound = try DurableRecord(id: 2, name: "sound", SubscriptionFilter("b"))
        var store = try Store.open(path: folder.database, options: options)
        await store.commit(
            (1...5).map { StoredMessage($0, "a") }, changes: [.create(lossy), .create(sound)], reserveBelow: 100)
        let epoch = store.recovered.epoch
        try store.close(nextSequence: 6)
        try folder.execute(damage)
        for round in 0..<2 {
            store = try Store.open(path: folder.database, options: options)
            let failure = try #require(store.recovered.failure)
            #expect(failure.kind == .damaged)
            #expect(failure.message.contains("stop notifyd"))
            #expect(store.recovered.nextSequence >= 6)
            #expect(store.recovered.usableBelow > store.recovered.nextSequence)
            #expect(store.recovered.subscriptions.contains(sound))
            #expect(store.recovered.epoch == (damage.contains("state") ? 0 : epoch))
            if damage.contains("id = 1") || damage.contains("losses") {
                #expect(!store.recovered.subscriptions.contains { $0.id == 1 })
                #expect(store.recovered.isMissingSubscriptions)
            } else {
                #expect(!store.recovered.isMissingSubscriptions)
            }
            let next = store.recovered.nextSequence
            #expect(await store.commit([StoredMessage(next)]).failure == failure, "round \(round)")
            await #expect(throws: StorageFailure.self) { try await store.page(SubscriptionFilter(">")) }
            // The next start must not use the sequences of volatile messages again.
            store.sequencesUsed(below: next + 10)
            try store.close(nextSequence: next + 10)
            store = try Store.open(path: folder.database, options: options)
            #expect(store.recovered.nextSequence >= next + 10)
            try store.close(nextSequence: next + 20)
        }
    }

    @Test func `a log whose header is damaged is not replaced`() async throws {
        let folder = try TemporaryFolder()
        try Store.open(path: folder.database).close(nextSequence: 6)
        let url = URL(fileURLWithPath: folder.database)
        for offset in [0, 16] {
            var data = try Data(contentsOf: url)
            data[offset] ^= 0x40
            try data.write(to: url)
            let store = try Store.open(path: folder.database)
            #expect(store.recovered.failure?.kind == .damaged, "offset \(offset)")
            #expect(await store.commit([StoredMessage(1 << 50)]).failure?.kind == .damaged)
            try store.close(nextSequence: 1 << 50)
            #expect(try Data(contentsOf: url) == data)
            data[offset] ^= 0x40
            try data.write(to: url)
        }
    }

    @Test func `damage that is found while the log is open makes later commits fail`() async throws {
        let folder = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 2
        let log = try Log.open(at: folder.database, options).log
        defer { log.close() }
        _ = log.commit(CommitBatch(id: 1, blocks: [LogBlock((1...5).map { StoredMessage($0) })]))
        try log.connection.execute("UPDATE segments SET bytes = bytes + 1")
        let request = PageRequest(
            for: .history, filter: try SubscriptionFilter(">"), access: .of(uid: 0),
            after: 0, through: .max, maximumMessages: .max)
        guard case .failure(let failure) = log.readPage(request).result else {
            Issue.record("a damaged segment was read")
            return
        }
        #expect(failure.kind == .damaged)
        #expect(log.commit(CommitBatch(id: 2, blocks: [LogBlock([StoredMessage(6)])])).failure == failure)
    }

    private static func check(_ store: Store) async -> LogFindings {
        await completion { store.checkLog(progress: { _ in }, completion: $0) }
    }

    @Test func `a full check of the open log finds damage, and lets other requests run meanwhile`() async throws {
        let folder = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 50
        var store = try Store.open(path: folder.database, options: options)
        await store.commit(
            (1...5000).map { StoredMessage($0, "name.\($0 % 7)") },
            changes: [.create(try DurableRecord(id: 1, name: "d", SubscriptionFilter("none")))])
        let sound = await Self.check(store)
        #expect(sound.isSound && sound.messages == 5000 && sound.names == 7 && sound.subscriptions == 1)
        #expect(sound.segments == 99)
        try store.close(nextSequence: 5001)
        try folder.execute("UPDATE messages SET payload = x'00' WHERE sequence IN (70, 71, 4990)")
        store = try Store.open(path: folder.database, options: options)
        let damaged = await Self.check(store)
        #expect(damaged.damagedMessages == 3 && damaged.problemCount == 0)
        #expect(damaged.damagedRanges.map(\.first) == [70, 4990])
        // Commits and deletions run between the slices.
        var rule = RetentionRule(patterns: [.everyName])
        rule.maximumMessages = 100
        store.setRetention(RetentionPolicy(rules: [rule]))
        store.maintain()
        var sequence: UInt64 = 5000
        let opened = store
        for _ in 0..<20 {
            async let findings = Self.check(opened)
            for _ in 0..<20 {
                sequence += 1
                await opened.commit([StoredMessage(sequence, "new.\(sequence)")])
            }
            let found = await findings
            #expect(found.problems.isEmpty)
            #expect(found.damagedMessages <= 3)
        }
        try store.close(nextSequence: sequence + 1)
        try folder.execute("UPDATE state SET next_sequence = 3")
        store = try Store.open(path: folder.database, options: options)
        let degraded = await Self.check(store)
        #expect(degraded.problems.contains { $0.part == .state })
        #expect(degraded.problems.contains { $0.part == .database && $0.text.contains("stop notifyd") })
        #expect(degraded.messages > 0)
        try store.close(nextSequence: sequence + 2)
    }

    /// Flips bits anywhere in 200 databases. Whatever is delivered is as it was posted. If opening finds the damage,
    /// commits are refused.
    @Test func `no damage changes a delivered message`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let original = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 20
        let store = try Store.open(path: original.database, options: options)
        let messages = StoredMessage.hundred(using: &generator)
        await store.commit(messages)
        try store.close(nextSequence: 101)
        let sound = try Data(contentsOf: URL(fileURLWithPath: original.database))
        var (opened, damaged, degraded) = (0, 0, 0)
        for _ in 0..<200 {
            let folder = try TemporaryFolder()
            let data = sound.flipping(Int.random(in: 1...4, using: &generator), using: &generator)
            try data.write(to: URL(fileURLWithPath: folder.database))
            guard let store = try? Store.open(path: folder.database, options: options) else { continue }
            opened += 1
            if let failure = store.recovered.failure {
                degraded += 1
                #expect(await store.commit([StoredMessage(store.recovered.nextSequence)]).failure == failure)
                #expect(store.recovered.nextSequence > 100)
            }
            for filter in try [SubscriptionFilter(">"), SubscriptionFilter("name.3"), SubscriptionFilter("name.*")] {
                guard let page = try? await store.page(filter, subscription: 9) else { continue }
                damaged += page.damaged.count
                for message in page.block.messages {
                    #expect(messages[Int(message.sequence) - 1] == message)
                }
            }
            try? store.close(nextSequence: 200)
        }
        #expect(opened > 20)
        #expect(damaged > 5)
        #expect(degraded > 5)
    }
}
