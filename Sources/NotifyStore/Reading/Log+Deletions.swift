import NotifyLog
import NotifySystem

/// The error of a transaction that finds the table of deletions damaged. The transaction succeeds when it is run again,
/// because it then writes no row. Its deletions are known until the end of the process.
struct UnwritableDeletions: Error {}

/// Noting the deletions of messages, and writing and reading their rows.
extension Log {
    /// Notes the deletion of messages of a segment, in the transaction that deletes them.
    func noteDeleted(_ entries: [SegmentEntry], in segment: Segment) {
        for entry in entries {
            guard let name = name(of: entry.key) else { continue }
            deletions.note(
                .init(name: name, first: segment.first, last: segment.last, count: UInt64(entry.messages)))
        }
    }

    /// Notes the deletion of messages, in the transaction that deletes them.
    func noteDeleted(_ parts: [SegmentEntry.Key: DeletedPart]) {
        for (key, part) in parts {
            guard let first = part.sequences.first, let last = part.sequences.last, let name = name(of: key) else {
                continue
            }
            deletions.note(.init(name: name, first: first, last: last, count: UInt64(part.sequences.count)))
        }
    }

    private func name(of key: SegmentEntry.Key) -> [UInt8]? {
        contents.names.number(ofID: key.name).map { contents.names.withBytes(of: $0) { Array($0) } }
    }

    /// The free space of the disk at which rows that had no room are written.
    private static let roomForDeletions: UInt64 = 1 << 20

    /// Writes the rows of the transaction that is under way.
    ///
    /// - Throws: ``UnwritableDeletions`` if the table is damaged.
    func writeDeletions(_ statements: Statements) throws {
        if deletions.room == .scarce, disk.freeBytes ?? .max >= Self.roomForDeletions {
            deletions.room = .enough
        }
        do {
            for row in deletions.takeRows() { try row.write(with: statements.deletions.insert) }
        } catch let failure as SQLiteFailure where failure.isCorruption {
            deletions.isUnwritable = true
            throw UnwritableDeletions()
        }
    }

    /// Runs `body` in a transaction, and runs it again without rows if the table of deletions is damaged.
    func inRepeatableTransaction(_ synchronous: LogDatabase.Synchronous, _ body: (Statements) throws -> Void) throws {
        do {
            try inTransaction(synchronous, body)
        } catch is UnwritableDeletions {
            try inTransaction(synchronous, body)
        }
    }

    /// Replaces the rows of deletions that were summed up meanwhile, and damaged rows, in a transaction of its own. A
    /// failed transaction loses nothing, and is tried again later.
    func replaceStaleDeletions() {
        // The room of a released reserve is for deletions of messages.
        guard let end = deletions.staleThrough, deletions.isWritable, !disk.reserve.isReleased else { return }
        do {
            try inTransaction(.normal) { try replaceDeletions(through: end, $0) }
            deletions.rewritten(through: end)
        } catch {
            if let failure = error as? SQLiteFailure, failure.isCorruption { deletions.isUnwritable = true }
        }
    }

    /// Replaces the rows up to a mark by those of the deletions in memory.
    func replaceDeletions(through end: UInt64, _ statements: Statements) throws {
        try statements.deletions.forget.bind(1, end)
        try statements.deletions.forget.run()
        for row in deletions.rows(through: end) { try row.write(with: statements.deletions.insert) }
    }

    /// Reads the deletions. If rows are damaged, readers with a mark of an earlier opening get an upper bound: every
    /// message until now may have been deleted.
    ///
    /// - Parameter next: The next sequence.
    /// - Returns: The number of rows, and of ranges of rows, that are damaged.
    func readDeletions(before next: UInt64) throws -> Int {
        deletions = DeletionLog(at: clock.now)
        let rows = try RowScan(connection, DeletionRow.columns, from: "deletions", key: "mark", isSkipping: true)
        var damaged = 0
        while let row = try rows.next() {
            if let row = DeletionRow(row) { deletions.read(row) } else { damaged += 1 }
        }
        if !rows.unreadable.isEmpty {
            damaged += rows.unreadable.count
            deletions.isUnwritable = true
        }
        if damaged > 0 { deletions.noteUnknown(through: next - 1) }
        return damaged
    }
}
