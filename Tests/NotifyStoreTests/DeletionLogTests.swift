import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The deletions in memory, and their rows.
struct DeletionLogTests {
    private static func event(
        _ name: String?, _ range: ClosedRange<UInt64>, _ count: UInt64 = 1, isSum: Bool = false
    ) -> DeletionLog.Event {
        .init(
            name: name.map { Array($0.utf8) }, first: range.lowerBound, last: range.upperBound, count: count,
            isSum: isSum)
    }

    private static func missed(_ log: DeletionLog, _ pattern: NamePattern, since mark: UInt64) -> Loss? {
        log.missed(
            by: PageRequest(
                for: .history, filter: SubscriptionFilter(patterns: [pattern], object: nil),
                access: .of(uid: 0), after: 0, maximumMessages: 1, deletionMark: mark), scanned: .max, isEnd: true)
    }

    // MARK: Summing up

    @Test func `many deletions are summed up, and none is forgotten`() {
        var log = DeletionLog(at: .seconds(1))
        let mark = log.mark
        for number in 1...20_000 as ClosedRange<UInt64> {
            log.delete([Self.event(number % 4 == 0 ? "rare" : "a", number...number)])
        }
        #expect(log.events.count <= DeletionLog.maximumEvents)
        #expect(
            Self.missed(log, "rare", since: mark) == Loss(first: 4, last: 20_000, count: 5_000, isUpperBound: true))
        #expect(Self.missed(log, "other", since: mark) == nil)
        #expect(
            Self.missed(log, "rare", since: log.mark - 4)
                == Loss(first: 20_000, last: 20_000, count: 1, isUpperBound: false))
        // With too many names, the deletions of all names are summed up together.
        for number in 20_001...40_000 as ClosedRange<UInt64> { log.delete([Self.event("n\(number)", number...number)]) }
        #expect(log.events.count <= DeletionLog.maximumEvents)
        #expect(Self.missed(log, ">", since: mark)?.count == 40_000)
        #expect(Self.missed(log, "other", since: mark)?.isUpperBound == true)
    }

    @Test func `the deletions of one transaction have one mark, and are summed up together`() {
        var log = DeletionLog()
        let names = (0..<100).map { "name.\($0)" }
        for segment in 1...200 as ClosedRange<UInt64> {
            let before = log.mark
            log.delete(names.map { Self.event($0, segment * 1000...segment * 1000 + 999, 10) })
            #expect(log.mark == before + 1)
            #expect(log.events.suffix(100).allSatisfy { $0.mark == log.mark })
        }
        #expect(log.events.count <= DeletionLog.maximumEvents)
        #expect(log.events == log.events.sorted { $0.mark < $1.mark })
        #expect(Self.missed(log, "name.7", since: 1)?.count == 2_000)
        #expect(Self.missed(log, "name.100", since: 1) == nil)
        // Each mark has one row with its deletions.
        let rows = log.rows(through: .max)
        #expect(rows.flatMap(\.events) == log.events)
        #expect(Set(rows.map(\.mark)).count == rows.count && rows.count < 200)
    }

    @Test func `a sum of deletions counts at most as many messages as its range has sequences`() {
        var sum = Self.event("a", 1...Limits.sequenceEnd - 1, Limits.sequenceEnd - 1)
        for _ in 0..<10_000 { sum.add(Self.event("b", 1...Limits.sequenceEnd - 1, Limits.sequenceEnd - 1)) }
        #expect(sum.count == Limits.sequenceEnd - 1 && sum.name == nil && sum.isSum)
        var log = DeletionLog()
        for _ in 0..<4_000 { log.delete([Self.event("a", 1...Limits.sequenceEnd - 1, Limits.sequenceEnd - 1)]) }
        #expect(Self.missed(log, "a", since: 1)?.count == Limits.sequenceEnd - 1)
    }

    @Test func `the deletions of a failed transaction are forgotten`() {
        var log = DeletionLog()
        log.note(Self.event("a", 1...1))
        log.rollBack(isFull: false)
        #expect(!log.hasRows && !log.commit() && log.events.isEmpty)
        log.note(Self.event("a", 1...1))
        #expect(log.takeRows().count == 1)
        log.rollBack(isFull: false)
        #expect(!log.hasRows && !log.commit() && log.events.isEmpty && log.isWritable)
    }

    @Test func `rows for which there is no room are written later`() {
        var log = DeletionLog()
        log.note(Self.event("a", 1...1))
        #expect(log.takeRows().count == 1)
        log.rollBack(isFull: true)
        log.note(Self.event("a", 1...1))
        #expect(log.takeRows().isEmpty && log.commit())
        #expect(log.events.count == 1 && log.hasRows)
        #expect(log.room == .scarce)
        log.room = .enough
        log.note(Self.event("b", 2...2))
        #expect(log.takeRows().map(\.mark) == [log.mark, log.mark + 1])
        #expect(log.commit() && !log.hasRows)
    }

    // MARK: Rows

    /// Writes a row to a database, changes its mark, and calls `body` with the row as SQLite returns it.
    private func withRow<Result>(
        _ row: DeletionRow, changing change: String = "mark", _ body: (PreparedStatement) throws -> Result
    ) throws -> Result {
        let database = try DatabaseConnection()
        try database.execute("CREATE TABLE deletions (mark INTEGER PRIMARY KEY, parts BLOB NOT NULL, crc INTEGER)")
        try row.write(with: PreparedStatement(database, DeletionRow.insert))
        try database.execute("UPDATE deletions SET mark = \(change)")
        let select = try PreparedStatement(database, "SELECT \(DeletionRow.columns) FROM deletions")
        #expect(try select.step())
        return try body(select)
    }

    @Test func `a row is read as it was written`() throws {
        let rows = [
            DeletionRow(mark: 2, events: []), DeletionRow(mark: 3, events: [Self.event("a", 1...1)]),
            DeletionRow(mark: 1 << 55, events: [Self.event(nil, 1...Limits.sequenceEnd - 1, 77, isSum: true)]),
            DeletionRow(
                mark: 300,
                events: [
                    Self.event("b", 500...1 << 52, 400), Self.event("état", 7...70_000, 3, isSum: true),
                    Self.event(String(repeating: "x", count: 255), 1 << 52...1 << 52),
                ]),
        ]
        for row in rows { #expect(try withRow(row) { DeletionRow($0) } == row) }
    }

    @Test func `a row with any changed bit counts as damaged`() throws {
        let row = DeletionRow(mark: 300, events: [Self.event("b", 500...600, 40), Self.event("a", 7...8)])
        #expect(try withRow(row, changing: "mark + 1") { DeletionRow($0) } == nil)
        let bytes = try withRow(row) { $0.blob(1) }
        let database = try DatabaseConnection()
        let select = try PreparedStatement(
            database, "SELECT 300, coalesce(?, x''), \(try withRow(row) { $0.integer(2) })")
        func read(_ bytes: [UInt8]) throws -> DeletionRow? {
            defer { select.reset() }
            return try bytes.withUnsafeBytes { bytes in
                try select.bindBlob(1, bytes)
                #expect(try select.step())
                return DeletionRow(select)
            }
        }
        #expect(try read(bytes) == row)
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try read(changed) == nil, "bit \(bit)")
        }
        for count in 0..<bytes.count { #expect(try read(Array(bytes.prefix(count))) == nil) }
    }

    @Test func `a row with impossible numbers counts as damaged`() throws {
        let end = Limits.sequenceEnd
        for event in [
            Self.event("a", 0...1), Self.event("a", 1...end), Self.event("a", 1...4, 0), Self.event("a", 1...4, 5),
            Self.event("", 1...1), Self.event(String(repeating: "x", count: 256), 1...1),
            Self.event("a", 1...UInt64.max - 1, 9), Self.event("a", end...end),
        ] {
            #expect(try withRow(DeletionRow(mark: 9, events: [event])) { DeletionRow($0) } == nil, "\(event)")
        }
        for mark in [0, 1, 1 << 57, UInt64(Int64.max)] {
            #expect(try withRow(DeletionRow(mark: mark, events: [])) { DeletionRow($0) } == nil, "\(mark)")
        }
        let many = (0...DeletionRow.maximumEvents).map { _ in Self.event("a", 1...1) }
        #expect(try withRow(DeletionRow(mark: 9, events: many)) { DeletionRow($0) } == nil)
        #expect(try withRow(DeletionRow(mark: 9, events: many.dropLast())) { DeletionRow($0) } != nil)
    }

    @Test func `the messages of several users in the same range are added up`() {
        var log = DeletionLog()
        log.delete([Self.event("a", 1...9, 2), Self.event("b", 1...9), Self.event("a", 1...9, 3)])
        #expect(log.events.map(\.count) == [5, 1])
        log.delete([Self.event("a", 1...9, 2), Self.event("a", 2...9)])
        #expect(log.events.suffix(2).map(\.count) == [2, 1], "messages of different ranges are not added up")
    }

    @Test func `names that do not fit in a row are known until the end of the process`() throws {
        var log = DeletionLog()
        for number in 0..<1_000 { log.note(Self.event("a.rather.long.name.\(number)", 1...1_000)) }
        let row = try #require(log.takeRows().first)
        #expect(log.commit() && log.events.count == 1_000 && row.events.count < 1_000)
        #expect(Self.missed(log, "a.rather.long.name.999", since: 1)?.isUpperBound == false)
        #expect(Self.missed(log, "other", since: 1) == nil)
        var again = DeletionLog()
        again.read(row)
        #expect(again.mark == log.mark)
        #expect(Self.missed(again, ">", since: 1)?.count == 1_000)
        #expect(Self.missed(again, "other", since: 1)?.isUpperBound == true)
        // If a transaction has more names than are kept in memory, those that do not fit in its row are unknown at
        // once.
        log.delete((0..<1_025).map { Self.event("a.rather.long.name.\($0)", 2_001...4_000) })
        #expect(log.events.count < 1_300 && Self.missed(log, "other", since: 1)?.first == 2_001)
    }

    @Test(arguments: [1, 20, 255]) func `a row of many names fits in a page`(length: Int) throws {
        let events = (0..<4_096).map { number in
            let digits = "n\(number)"
            let name = digits + String(repeating: "x", count: max(0, length - digits.utf8.count))
            return Self.event(name, UInt64(1 << 50)...UInt64(1 << 50) + 5_000, number == 4_000 ? 900 : 1)
        }
        for count in [1, 10, 14, 15, 16, 100, 4_096] {
            let row = DeletionRow(mark: 9, fitting: events.suffix(count))
            let bytes = try withRow(row) { $0.blob(1).count }
            #expect(bytes <= DeletionRow.maximumBytes, "\(count) names")
            #expect(row.events.reduce(0) { $0 + $1.count } == UInt64(count < 96 ? count : count + 899))
            #expect(row.events.count == count || row.events.last?.name == nil)
            if count > 96 { #expect(row.events.contains { $0.count == 900 && $0.name != nil }) }
            if count == 4_096 { #expect(bytes > DeletionRow.maximumBytes - 300) }
        }
    }
}

extension DeletionLog {
    /// Adds the deletions of a transaction that succeeds.
    fileprivate mutating func delete(_ events: [Event]) {
        for event in events { note(event) }
        _ = takeRows()
        _ = commit()
    }
}
