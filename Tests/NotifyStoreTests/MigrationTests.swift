import NotifyLog
import NotifySystem
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Databases of earlier versions.
@Suite(.timeLimit(.minutes(25)))
struct MigrationTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The messages in `OldSchema.sql`.
    private var messages: [StoredMessage] {
        var messages = [
            StoredMessage(1, payload: []),
            StoredMessage(4096, "état", object: "objekt", id: "id-1", headers: [1, 0, 255], payload: [0, 255]),
            StoredMessage(8193),
        ]
        messages[1].stamp = [0, 0, UInt64(UInt32.max), 0]
        for index in messages.indices { messages[index].stamp[0] = 1_700_000_000_000_000 + UInt64(index) }
        return messages
    }

    /// The values in `OldSchema.sql`, and the mark of a cleared one.
    private var values: [StoredMessage] {
        var values = [
            StoredMessage(4000, payload: [0, 255]),
            StoredMessage(4500, "état", object: "objekt", headers: [1, 0, 255], payload: [7]),
            StoredMessage(8000, "gone", headers: ClearedHeader.encoded(.cleared), payload: []),
        ]
        values[1].stamp = [1_700_000_000_000_001, 0, UInt64(UInt32.max), 0]
        return values
    }

    private func subscriptions() throws -> [DurableRecord] {
        var busy = try DurableRecord(id: 3, uid: 0, name: "busy", SubscriptionFilter("x", object: "één"))
        busy.progress = DurableProgress(
            cursor: 10, seenThrough: 1 << 50,
            acknowledged: [SequenceRange(first: 12, last: 12), SequenceRange(first: 20, last: 29)], isAttached: true)
        var plain = try DurableRecord(id: 2, uid: 1000, name: "plain", SubscriptionFilter("a.*", "b.>"), cursor: 5)
        plain.progress.seenThrough = 7
        var records = [
            plain, busy, try DurableRecord(id: 4, uid: 1000, name: "busy", SubscriptionFilter(">"), cursor: 8193),
        ]
        // Old logs contain no gids. The gid is unknown until the next attachment.
        for index in records.indices { records[index].owner.gid = .max }
        return records
    }

    @Test(arguments: OldSchema.allCases)
    func `a migration keeps all contents of an old log`(_ schema: OldSchema) async throws {
        try folder.execute(schema.sql)
        for round in 0..<2 as Range<UInt64> {
            let store = try Store.open(path: folder.database)
            let recovered = store.recovered
            #expect(recovered.wasClosedCleanly)
            #expect(recovered.nextSequence == 9000)
            #expect(recovered.persistedThrough == 8193)
            #expect(recovered.nextSubscriptionID == 5)
            #expect(try recovered.subscriptions == subscriptions())
            #expect(recovered.usage == messages.usage)
            #expect(try await store.everything(SubscriptionFilter(">")) == messages)
            #expect(try await store.everything(SubscriptionFilter("état"), subscription: 2) == [messages[1]])
            let (kept, recoveredValues) = (schema.hasValues ? values : [], recovered.values.values)
            #expect(try await store.values().block.messages == kept.filter { $0.name != "gone" })
            #expect(try await store.values(.bySequence).block.messages == kept)
            #expect(recoveredValues.map(\.sequence) == kept.map(\.sequence))
            #expect(recoveredValues.map(\.number) == Array([1, 2, 3].prefix(kept.count)))
            #expect(recoveredValues.map(\.isCleared) == kept.map { $0.name == "gone" })
            #expect(recoveredValues.map(\.uid) == kept.map { UInt32($0.stamp[1]) })
            #expect(recovered.values.lastNumber == UInt64(kept.count))
            try store.close(nextSequence: 9000)
            #expect(try folder.rows("PRAGMA user_version") == ["9"], "round \(round)")
            #expect(try folder.rows("PRAGMA auto_vacuum") == ["2"])
            #expect(recovered.problem == nil)
        }
    }

    @Test(arguments: OldSchema.allCases)
    func `a migrated log can be used`(_ schema: OldSchema) async throws {
        try folder.execute(schema.sql)
        var store = try Store.open(path: folder.database)
        let owner = Identity(uid: 1000, gid: 100, groups: [4, 24])
        let progress = DurableProgress(cursor: 8193, seenThrough: 9001, generation: 1)
        let outcome = await store.commit(
            [StoredMessage(9000, "état"), StoredMessage(9001, "new")],
            changes: [.setOwner(id: 4, owner), .update(id: 4, progress), .remove(id: 2)], reserveBelow: 1 << 25,
            isSynced: true)
        #expect(outcome.failure == nil)
        #expect(outcome.statistics.logMessages == 5)
        try store.close(nextSequence: 9002)

        store = try Store.open(path: folder.database)
        var expected = try subscriptions()
        expected.removeFirst()
        expected[1].attached(owner)
        expected[1].progress = progress
        #expect(store.recovered.subscriptions == expected)
        #expect(store.recovered.nextSequence == 9002)
        #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence) == [1, 4096, 8193, 9000, 9001])
        #expect(
            store.recovered.usage
                == (messages + [StoredMessage(9000, "état"), StoredMessage(9001, "new")]).usage)
        try store.close(nextSequence: 9002)
    }

    @Test(arguments: OldSchema.allCases.filter { !$0.hasChecksums })
    func `an old log continues at the end of its reserved sequences after a crash`(_ schema: OldSchema) throws {
        try folder.execute(schema.sql + "UPDATE state SET clean = 0")
        let store = try Store.open(path: folder.database)
        #expect(!store.recovered.wasClosedCleanly)
        #expect(store.recovered.nextSequence == 16_777_217)
        try store.close(nextSequence: 16_777_217)
    }

    @Test(arguments: OldSchema.allCases)
    func `a migrated log has the tables of a new one`(_ schema: OldSchema) throws {
        let new = try TemporaryFolder()
        let tables = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        try Store.open(path: new.database).close(nextSequence: 1)
        try folder.execute(schema.sql)
        try Store.open(path: folder.database).close(nextSequence: 9000)
        #expect(try folder.rows(tables) == new.rows(tables))
        for pragma in ["PRAGMA application_id", "PRAGMA user_version", "PRAGMA page_size", "PRAGMA journal_mode"] {
            #expect(try folder.rows(pragma) == new.rows(pragma))
        }
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
    }

    /// Version 1 created the table `grdb_migrations` in a separate transaction, before the other tables.
    @Test func `an interrupted creation of a version 1 log is completed`() throws {
        let started = "PRAGMA journal_mode = WAL; CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);"
        try folder.execute(started)
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.nextSequence == 1)
        try store.close(nextSequence: 1)

        let theirs = try TemporaryFolder()
        try theirs.execute(started + "INSERT INTO grdb_migrations VALUES ('theirs')")
        let error = try #require(throws: StoreError.self) { try Store.open(path: theirs.database) }
        #expect(error.code == .foreignDatabase)
    }

    // MARK: Failures

    @Test(arguments: OldSchema.allCases, [FaultyDisk.Fault.full, .write, .flush])
    func `a migration on a failing disk changes nothing`(_ schema: OldSchema, _ fault: FaultyDisk.Fault) async throws {
        try folder.execute(schema.sql)
        let before = try contents()
        FaultyDisk.watch(folder.path)
        FaultyDisk.set(fault, in: folder.path)
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == (fault == .full ? .full : .inputOutput))
        FaultyDisk.set(nil, in: folder.path)
        #expect(try contents() == before)
        try await expectOldContents(opened: folder)
    }

    @Test(arguments: OldSchema.allCases)
    func `a failed migration step leaves the old log unchanged`(_ schema: OldSchema) async throws {
        try folder.execute(schema.sql)
        let before = try contents()
        let failing =
            Migrations.steps + [
                { database in
                    try database.execute("CREATE TABLE later (name INTEGER PRIMARY KEY); DELETE FROM messages")
                    try database.execute("INSERT INTO absent VALUES (1)")
                }
            ]
        #expect(throws: SQLiteFailure.self) { try run(failing) }
        #expect(try contents() == before)
        try await expectOldContents(opened: folder)
    }

    /// A new version adds one step. The earlier steps are not run again.
    @Test(arguments: OldSchema.allCases)
    func `a further migration step runs once on a migrated log`(_ schema: OldSchema) throws {
        try folder.execute(schema.sql)
        let next =
            Migrations.steps + [
                { database in
                    try database.execute(
                        "CREATE TABLE later (name INTEGER PRIMARY KEY, sequence INTEGER NOT NULL) STRICT")
                }
            ]
        try run(Migrations.steps)
        #expect(try folder.rows("PRAGMA user_version") == ["9"])
        for _ in 0..<2 {
            try run(next)
            #expect(try folder.rows("PRAGMA user_version") == ["10"])
            #expect(try folder.rows("SELECT count(*) FROM later, subscriptions") == ["0"])
        }
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .otherSchema)
    }

    private func expectOldContents(opened folder: TemporaryFolder) async throws {
        let store = try Store.open(path: folder.database)
        #expect(try store.recovered.subscriptions == subscriptions())
        #expect(try await store.everything(SubscriptionFilter(">")) == messages)
        try store.close(nextSequence: 9000)
    }

    private func run(_ steps: [Migrations.Step]) throws {
        try Migrations.run(steps, on: DatabaseConnection(path: folder.database))
    }

    private func contents() throws -> [String] {
        let tables = try folder.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return try (["sqlite_schema"] + tables).flatMap { try folder.rows("SELECT * FROM \($0)") }
            + folder.rows("PRAGMA user_version")
    }
}
