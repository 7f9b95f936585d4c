import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Purges and retention also delete the copies of messages for durable subscriptions, and purges also delete dead
/// letters.
@Suite(.timeLimit(.minutes(25)))
struct CopyDeletionTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ rules: RetentionRule...) throws -> (Store, Deletions) {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        options.segmentAge = .seconds(60)
        options.clock = clock.storeClock
        options.retention.configuredRules += rules
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        return (store, deletions)
    }

    private func copy(_ sequence: UInt64, for id: DurableID = 1) -> DurableChange {
        .keep(id: id, Redelivery(sequence: sequence, failures: 1, delayMicroseconds: 1 << 50, bytes: 0), reason: "why")
    }

    /// Messages of "a" and "b" in turn, and two subscriptions that have passed them and have copies of some.
    private func fill(_ store: Store) async throws {
        let records = try [1, 2].map {
            try DurableRecord(id: DurableID($0), name: "\($0)", SubscriptionFilter(">"), cursor: 6)
        }
        await store.commit(
            (1...6).map { StoredMessage($0, $0 % 2 == 1 ? "a" : "b") },
            changes: records.map { .create($0) } + [copy(1), copy(2), copy(5), copy(5, for: 2), copy(6, for: 2)],
            reserveBelow: 100)
    }

    private func purge(_ store: Store, _ pattern: NamePattern, before: UInt64 = .max) async throws -> PurgeResult {
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: [pattern], object: nil), before: before)
        return try await completion { store.purge(request, completion: $0) }.get()
    }

    @Test func `a purge deletes the copies of its messages, and the subscriptions lose them`() async throws {
        let (store, deletions) = try open()
        try await fill(store)
        // A copy remains when its message is deleted from the log.
        await store.commit([], changes: [.delete(sequences: [1])])
        _ = deletions.take()
        let result = try await purge(store, "a", before: 6)
        #expect(result.messages == 2 && result.copies == 3 && result.subscriptions == [1, 2])
        let deletion = deletions.take()
        #expect(deletion.copies == [1: [1, 5], 2: [5]] && deletion.isPurge)
        #expect(deletion.losses[1] == Loss(first: 1, last: 5, count: 2, isUpperBound: true))
        #expect(try await store.copies([1, 2, 5]).missing == [1, 5])
        #expect(try await store.copies([5, 6], of: 2).missing == [5])
        #expect(try await purge(store, "none").copies == 0)
        try store.close(nextSequence: 7)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.redeliveries.mapValues { $0.map(\.sequence) } == [1: [2], 2: [6]])
        #expect(again.recovered.subscriptions.map { $0.loss?.count } == [2, 1])
        try again.close(nextSequence: 7)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `a purge before a sequence leaves copies of later messages`() async throws {
        let (store, _) = try open()
        try await fill(store)
        #expect(try await purge(store, ">", before: 5).copies == 2)
        #expect(try await store.copies([1, 2, 5]).missing == [1, 2])
    }

    @Test func `a purge can delete more copies than one step examines`() async throws {
        let (store, deletions) = try open()
        let record = try DurableRecord(id: 1, name: "1", SubscriptionFilter(">"), cursor: 700)
        await store.commit(
            (1...700).map { StoredMessage($0, $0 % 7 == 0 ? "b" : "a") },
            changes: [.create(record)] + (1...700).map { copy($0) }, reserveBelow: 1000)
        #expect(try await purge(store, "a").copies == 600)
        #expect(deletions.all.copies[1]?.count == 600)
        try store.close(nextSequence: 701)
        #expect(try folder.rows("SELECT count(*) FROM redeliveries") == ["100"])
    }

    private func letter(_ sequence: UInt64, of original: UInt64, _ name: String) -> StoredMessage {
        .deadLetter(sequence, of: StoredMessage(original, name))
    }

    @Test func `a purge deletes the dead letters of its messages, even those after its last sequence`()
        async throws
    {
        let (store, deletions) = try open()
        let reader = try DurableRecord(id: 1, name: "letters", SubscriptionFilter("notifyd.dead.*"))
        let letters = [
            letter(3, of: 1, "a"), letter(4, of: 2, "b"), letter(6, of: 1, "a"), letter(7, of: 5, "a"),
            letter(9, of: 1, "a"),
        ]
        await store.commit(
            [StoredMessage(1, "a"), StoredMessage(2, "b"), letters[0], letters[1], StoredMessage(5, "a")]
                + letters[2...3] + [StoredMessage(8, "b"), letters[4]], changes: [.create(reader)], reserveBelow: 100)
        let result = try await purge(store, "a", before: 5)
        #expect(result.messages == 4 && result.subscriptions == [1])
        #expect(try await store.everything(SubscriptionFilter(">", "notifyd.>")).map(\.sequence) == [2, 4, 5, 7, 8])
        #expect(deletions.all.losses[1] == Loss(first: 3, last: 9, count: 3, isUpperBound: false))
        try store.close(nextSequence: 10)
        let again = try Store.open(path: folder.database)
        #expect(
            again.recovered.usage
                == [
                    StoredMessage(2, "b"), letters[1], StoredMessage(5, "a"), letters[3],
                    StoredMessage(8, "b"),
                ].usage)
        try again.close(nextSequence: 10)
    }

    private func rule(_ pattern: NamePattern, maximumAge: Duration?) -> RetentionRule {
        var rule = RetentionRule(patterns: [pattern])
        (rule.maximumAge, rule.historyAge) = (maximumAge, .zero)
        return rule
    }

    @Test func `a copy is deleted when it reaches the maximum age of its name's rule`() async throws {
        let (store, deletions) = try open(
            rule("a", maximumAge: .seconds(3600)), rule("b", maximumAge: .seconds(7200)))
        try await fill(store)
        clock.advance(by: .seconds(61))
        store.maintainToEnd()
        #expect(try await store.everything(SubscriptionFilter(">")).isEmpty, "history is not kept")
        #expect(try await store.copies([1, 2, 5]).missing.isEmpty)
        clock.advance(by: .seconds(3600 - 62))
        _ = deletions.take()
        store.maintainToEnd()
        #expect(deletions.take().copies.isEmpty)
        clock.advance(by: .seconds(1))
        store.maintainToEnd()
        let deletion = deletions.take()
        #expect(deletion.copies == [1: [1, 5], 2: [5]] && !deletion.isPurge)
        #expect(deletion.losses[1]?.count == 2 && deletion.losses[2]?.count == 1)
        clock.advance(by: .seconds(3600))
        store.maintainToEnd()
        #expect(deletions.take().copies == [1: [2], 2: [6]])
        try store.close(nextSequence: 7)
        #expect(try folder.rows("SELECT count(*) FROM redeliveries") == ["0"])
    }

    @Test func `the age of a copy is that of its message, also after restarts`()
        async throws
    {
        var (store, deletions) = try open(rule("a", maximumAge: .seconds(3600)))
        let record = try DurableRecord(id: 1, name: "1", SubscriptionFilter(">"))
        await store.commit((1...4).map { StoredMessage($0, "a") }, changes: [.create(record)], reserveBelow: 100)
        // After this time, the pass closes the segment.
        clock.advance(by: .seconds(61))
        store.maintainToEnd()
        clock.advance(by: .seconds(1739))
        await store.commit([], changes: [copy(2)])
        try store.close(nextSequence: 5)
        (store, deletions) = try open(rule("a", maximumAge: .seconds(3600)))
        clock.advance(by: .seconds(1700))
        await store.commit([], changes: [copy(2)])
        store.maintainToEnd()
        #expect(deletions.take().copies.isEmpty)
        clock.advance(by: .seconds(161))
        store.maintainToEnd()
        #expect(deletions.take().copies == [1: [2]])
        try store.close(nextSequence: 5)
    }

    @Test func `a migration keeps the content of copies, and a damaged copy stays damaged`() async throws {
        try folder.execute(OldSchema.version3.sql)
        let connection = try DatabaseConnection(path: folder.database)
        try Migrations.run(Array(Migrations.steps.prefix(5)), on: connection)
        try connection.execute("UPDATE state SET log_time = 5000000")
        let message = StoredMessage(2, "a")
        let frame = LogBlock([message]).frames
        let body = Array(frame.readableBytesView.dropFirst(FrameHeader.size))
        let insert = try PreparedStatement(
            connection,
            """
            INSERT INTO redeliveries (id, subscription, sequence, failures, due, dead, reason, frame_crc, crc, frame)
            VALUES (?, 1, ?, 3, 9, 0, 'why', ?, ?, ?)
            """)
        for (id, sequence) in [(1, 2), (2, 3)] as [(UInt64, UInt64)] {
            try body.withUnsafeBytes { body in
                var checksum = Checksum()
                let numbers = [1, 2, 3, 9, 0, UInt64(frame.readableBytes), UInt64(Checksum.of(body))]
                for number in numbers { checksum.add(number) }
                checksum.add("why")
                try insert.bind(1, id)
                try insert.bind(2, sequence)
                try insert.bind(3, Checksum.of(body))
                try insert.bind(4, checksum.value)
                try insert.bindBlob(5, body)
                try insert.run()
            }
        }
        try Migrations.run(on: connection)
        let rows = try PreparedStatement(connection, "SELECT \(RedeliveryRow.columns), frame FROM redeliveries")
        #expect(try rows.step())
        let row = try #require(RedeliveryRow(rows))
        #expect(row.failures == 3 && row.reason == "why" && row.name == "a" && row.kept == .seconds(5))
        #expect(row.message(in: rows).map { StoredMessage($0) } == message)
        #expect(try rows.step())
        #expect(RedeliveryRow(rows) == nil)
    }
}
