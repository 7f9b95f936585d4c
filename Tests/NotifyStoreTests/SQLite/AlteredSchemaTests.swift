import Foundation
import NotifyLog
import NotifySystem
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Log files with added or altered definitions, which SQLite would execute.
@Suite(.timeLimit(.minutes(25)))
struct AlteredSchemaTests {
    private static let messages = (1...10).map { StoredMessage($0, $0 % 3 == 0 ? "b" : "a") }
    private static let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"

    private static func makeLog(in folder: TemporaryFolder) async throws {
        let store = try Store.open(path: folder.database, options: .withoutTimer)
        let record = try DurableRecord(id: 1, uid: 7, name: "d", SubscriptionFilter("a"), cursor: 3)
        await store.commit(messages, changes: [.create(record)], reserveBelow: 100)
        try store.close(nextSequence: 11)
    }

    /// A change of a definition in the file.
    private static func change(_ table: String, _ old: String, _ new: String) -> String {
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET sql = replace(sql, '\(old)', '\(new)') WHERE name = '\(table)';
        """
    }

    struct Alteration: CustomTestStringConvertible {
        let sql: String
        /// The text of the error about the first entry that differs.
        let difference: String
        /// The number of messages that a repair keeps; nil if the repair fails.
        var kept: Int? = 10
        var testDescription: String { difference }
    }

    static let alterations = [
        Alteration(
            sql: "CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages; END",
            difference: "the trigger 't' of 'messages' is not part of a log"),
        Alteration(
            sql: "CREATE TRIGGER t AFTER UPDATE ON state BEGIN DELETE FROM messages; END",
            difference: "the trigger 't' of 'state' is not part of a log"),
        Alteration(sql: "CREATE VIEW v AS \(endless)", difference: "the view 'v' is not part of a log"),
        Alteration(
            sql: "DROP TABLE losses; CREATE VIEW losses AS \(endless)",
            difference: "the view 'losses' is not part of a log"),
        Alteration(
            sql: """
                DROP TABLE state;
                CREATE VIEW state AS SELECT
                    i AS id, i AS reserved_through, i AS next_sequence, i AS next_subscription, i AS clean,
                    i AS flushes, i AS log_id, i AS next_name, i AS log_time, i AS since_boot, i AS wall_time,
                    i AS boot_id, i AS epoch, i AS crc
                FROM (\(endless)) WHERE i < 0
                """, difference: "the view 'state' is not part of a log"),
        Alteration(
            sql: change("messages", "INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY ON CONFLICT REPLACE"),
            difference: "the definition of the table 'messages' differs from that in a log"),
        Alteration(
            sql: change("messages", "process INTEGER NOT NULL", "process INTEGER NOT NULL CHECK (process != 7)"),
            difference: "the definition of the table 'messages' differs from that in a log"),
        Alteration(
            sql: "ALTER TABLE messages ADD COLUMN computed INTEGER AS (length(payload))",
            difference: "the definition of the table 'messages' differs from that in a log"),
        Alteration(
            sql: change("messages", "time INTEGER NOT NULL", "time INTEGER NOT NULL AS (checksums)"),
            difference: "the definition of the table 'messages' differs from that in a log", kept: nil),
        Alteration(
            sql: "CREATE INDEX i ON messages (time)", difference: "the index 'i' of 'messages' is not part of a log"),
        Alteration(
            sql: "CREATE UNIQUE INDEX i ON messages (process, sequence)",
            difference: "the index 'i' of 'messages' is not part of a log"),
        Alteration(sql: "CREATE TABLE other (x)", difference: "the table 'other' is not part of a log"),
        Alteration(
            sql: "CREATE VIRTUAL TABLE other USING fts5(x)", difference: "the table 'other"),
        Alteration(
            sql: change("messages", "object TEXT", "object TEXT DEFAULT NULL"),
            difference: "the definition of the table 'messages' differs from that in a log"),
        Alteration(
            sql: "ALTER TABLE messages RENAME COLUMN time TO moment",
            difference: "the definition of the table 'messages' differs from that in a log", kept: nil),
        Alteration(
            sql: """
                ALTER TABLE messages RENAME TO old;
                CREATE TABLE messages (
                    sequence INTEGER PRIMARY KEY,
                    key INTEGER NOT NULL,
                    checksums INTEGER NOT NULL,
                    time INTEGER NOT NULL,
                    process INTEGER NOT NULL,
                    object TEXT,
                    id TEXT,
                    headers BLOB,
                    payload BLOB
                ) STRICT, WITHOUT ROWID;
                INSERT INTO messages SELECT * FROM old;
                DROP TABLE old;
                """, difference: "the definition of the table 'messages' differs from that in a log"),
        Alteration(
            sql: "PRAGMA journal_mode = DELETE; PRAGMA page_size = 65536; VACUUM",
            difference: "its pages have 65536 bytes instead of 4096"),
        Alteration(sql: "DROP TABLE segments", difference: "the table 'segments' is missing"),
        Alteration(sql: "DROP TABLE deletions", difference: "the table 'deletions' is missing"),
        Alteration(
            sql: "CREATE TRIGGER t AFTER INSERT ON deletions BEGIN DELETE FROM messages; END",
            difference: "the trigger 't' of 'deletions' is not part of a log"),
        Alteration(sql: "CREATE TABLE '\u{1B}[2J\u{202E}' (x)", difference: "the table '?[2J?' is not part of a log"),
    ]

    @Test(arguments: alterations)
    func `an altered file is neither restored nor opened, and a repair keeps its rows`(
        _ alteration: Alteration
    ) async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        try folder.execute(alteration.sql)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))

        let check = try FileCheck.run(path: folder.database)
        let problems = check.findings.problems.map(\.text)
        #expect(problems.first?.contains(alteration.difference) == true, "\(problems)")
        #expect(!check.hasReadStructure)
        let refusal = try #require(throws: StoreError.self) { try FileCheck.checkSchema(path: folder.database) }
        #expect(refusal.code == .damaged && refusal.message.contains(alteration.difference), "\(refusal)")

        let target = try TemporaryFolder()
        let backup = try BackupSource(path: folder.database)
        let error = try #require(throws: StoreError.self) { try Store.restore(backup, to: target.database) }
        #expect(error.code == .damaged && error.message.contains(alteration.difference), "\(error)")
        #expect(!exists(target.database))

        let store = try Store.open(path: folder.database)
        let failure = try #require(store.recovered.failure)
        #expect(failure.kind == .damaged && failure.message.contains(alteration.difference), "\(failure)")
        #expect(failure.message.contains("notifyd --repair"))
        try store.close(nextSequence: store.recovered.nextSequence)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)

        guard let kept = alteration.kept else {
            #expect(throws: StoreError.self) { try FileRepair.run(path: folder.database) }
            return
        }
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.messages == UInt64(kept) && repair.subscriptions == 1)
        #expect(repair.findings.problems.first?.text.contains(alteration.difference) == true)
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
        let repaired = try Store.open(path: repair.newPath)
        #expect(try await repaired.everything(SubscriptionFilter(">")) == Self.messages)
        try repaired.close(nextSequence: repair.nextSequence)
    }

    @Test(arguments: OldSchema.allCases)
    func `an altered file of an earlier version is refused`(_ schema: OldSchema) throws {
        let folder = try TemporaryFolder()
        try folder.execute(schema.sql)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
        #expect(try FileCheck.checkSchema(path: folder.database) > 0)
        try folder.execute("CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages; END")
        let difference = "the trigger 't' of 'messages' is not part of a log"
        let problems = try FileCheck.run(path: folder.database).findings.problems.map(\.text)
        #expect(problems.count == 1 && problems[0].contains(difference), "\(problems)")
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.failure?.message.contains(difference) == true)
        try store.close(nextSequence: store.recovered.nextSequence)
        let error = try #require(throws: StoreError.self) { try FileRepair.run(path: folder.database) }
        #expect(error.message.contains("restore a backup"), "\(error)")
    }

    /// The statistics of ANALYZE affect only the plans of queries.
    @Test func `a file with the additional tables of SQLite itself is a log`() async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        try folder.execute("ANALYZE")
        #expect(try folder.rows("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'") == ["1"])
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.failure == nil)
        try store.close(nextSequence: 11)
    }

    /// Makes twelve levels of pages, each with 100 references to the page of the next level, so that a scan would
    /// return 10^24 rows.
    @Test func `reading ends in a file whose pages repeat without end`() async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        let url = URL(fileURLWithPath: folder.database)
        let root = try #require(
            Int(folder.rows("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").first ?? ""))
        var data = try Data(contentsOf: url)
        let pages = data.count / 4096
        let content = data[(root - 1) * 4096..<root * 4096]
        data.replaceSubrange((root - 1) * 4096..<root * 4096, with: Self.page(repeating: pages + 1))
        for level in 1...11 { data += Self.page(repeating: pages + level + 1) }
        data += content
        data.replaceSubrange(28..<32, with: Self.bigEndian(UInt32(pages + 12)))
        try data.write(to: url)

        for isReading in [true, false] {
            let connection =
                isReading
                ? try DatabaseConnection(reading: folder.database)
                : try DatabaseConnection(path: folder.database, isForeign: true)
            defer { connection.close() }
            let failure = try #require(throws: SQLiteFailure.self) {
                try connection.integer("SELECT sum(sequence) FROM messages")
            }
            #expect(failure.isEndless && "\(failure)".contains("takes more steps than a log of its size needs"))
        }
        #expect(try !FileCheck.run(path: folder.database).findings.isSound)
        let target = try TemporaryFolder()
        let backup = try BackupSource(path: folder.database)
        let error = try #require(throws: StoreError.self) { try Store.restore(backup, to: target.database) }
        #expect(error.code == .damaged, "\(error)")
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.messages == 10)
    }

    /// An interior page of a table whose children are all the same page.
    private static func page(repeating child: Int) -> Data {
        let cells = 100
        var page = Data(repeating: 0, count: 4096)
        let start = 4096 - 5 * cells
        page[0] = 5
        page.replaceSubrange(3..<5, with: [0, UInt8(cells)])
        page.replaceSubrange(5..<7, with: [UInt8(start >> 8), UInt8(start & 0xFF)])
        page.replaceSubrange(8..<12, with: bigEndian(UInt32(child)))
        for cell in 0..<cells {
            let offset = start + 5 * cell
            page.replaceSubrange(12 + 2 * cell..<14 + 2 * cell, with: [UInt8(offset >> 8), UInt8(offset & 0xFF)])
            page.replaceSubrange(offset..<offset + 4, with: bigEndian(UInt32(child)))
            page[offset + 4] = UInt8(cell)
        }
        return page
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
}
