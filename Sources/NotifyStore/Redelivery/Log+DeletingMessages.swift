import NotifyLog
import NotifyWire

/// Deleting single messages: dead letters.
extension Log {
    /// Deletes messages, and subtracts them from the counts of their segments. Subscriptions that have not read the
    /// messages lose them.
    ///
    /// - Parameter sequences: The sequences of the messages, ascending. Sequences without a message are ignored.
    func delete(_ sequences: [UInt64], _ statements: Statements) throws {
        let open = contents.openSegment.isEmpty ? UInt64.max : contents.openSegment.segment.first
        var rest = sequences.prefix { $0 < open }
        while let first = rest.first {
            guard let row = try segment(containing: first, statements) else {
                rest.removeFirst()
                continue
            }
            let end = rest.firstIndex { $0 > row.segment.last } ?? rest.endIndex
            let entries = row.withEntries { Array($0) }
            let kept = try delete(rest[..<end], of: entries, through: row.segment.last, statements)
            try replace(row, with: kept, statements)
            rest = rest[end...]
        }
        let last = sequences.drop { $0 < open }
        guard !last.isEmpty else { return }
        let kept = try delete(
            last, of: contents.openSegment.entries, through: contents.openSegment.segment.last, statements)
        contents.keep(kept)
    }

    private func segment(containing sequence: UInt64, _ statements: Statements) throws -> SegmentRow? {
        let rows = statements.segments.below
        defer { rows.reset() }
        try rows.bind(1, sequence + 1)
        guard try rows.step() else { return nil }
        guard let row = SegmentRow(rows) else {
            throw StorageFailure(kind: .damaged, message: "the log's segment at \(rows.integer(0)) is damaged")
        }
        return row.segment.last >= sequence ? row : nil
    }

    /// Deletes messages of one segment.
    ///
    /// - Parameters:
    ///   - entries: All entries of the segment.
    ///   - end: The end of the segment.
    /// - Returns: The entries without the messages.
    private func delete(
        _ sequences: ArraySlice<UInt64>, of entries: [SegmentEntry], through end: UInt64, _ statements: Statements
    ) throws -> [SegmentEntry] {
        var parts: [SegmentEntry.Key: DeletedPart] = [:]
        for sequence in sequences {
            guard let (key, bytes) = try size(of: sequence, statements) else { continue }
            parts[key, default: DeletedPart()].add(sequence, bytes: bytes)
            try delete(sequence...sequence, statements)
        }
        let rest = entries.map { $0.reduced(by: parts[$0.key]) }
        var deletion = Deletion(
            usage: contents.names.usage(of: zip(entries, rest).map { $0.reduced(to: $1) }.filter { $0.messages > 0 }))
        for (entry, behind) in unreadEntries(of: entries.filter { parts[$0.key] != nil }, through: end) {
            addLosses(of: entry, parts[entry.key]?.sequences ?? [], to: behind, &deletion)
        }
        try write(deletion.losses, statements)
        noteDeleted(parts)
        deletion.deadLettersThrough = sequences.last ?? 0
        writer.add(deletion)
        return rest.filter { $0.messages > 0 }
    }

    /// The key and the bytes of a message; nil if there is none, or if it is damaged.
    private func size(
        of sequence: UInt64, _ statements: Statements
    ) throws -> (key: SegmentEntry.Key, bytes: Int)? {
        let rows = statements.messages.size
        defer { rows.reset() }
        try rows.bind(1, sequence)
        guard try rows.step(), MessageRow.isKeySound(rows) else { return nil }
        let key = MessageRow.key(rows)
        guard let name = contents.names.number(ofID: key.name) else { return nil }
        return (key, storedBytes(rows, of: name))
    }

    /// The size of the message in the current row, as `StoredUsage` counts it. The row has its `MessageRow.byteCount`
    /// after `MessageRow.keyColumns`.
    func storedBytes(_ row: PreparedStatement, of name: NameTable.Number) -> Int {
        StoredUsage.messageOverhead + contents.names.withBytes(of: name) { $0.count } + Int(row.integer(4))
    }

    /// Adds the messages that a committed batch has deleted, and the losses of its new subscriptions, to the report.
    func noteDeleted(_ deleted: Deletion) {
        report.deletion.add(deleted)
        guard !deleted.usage.isEmpty else { return }
        contents.removeMessages(deleted.usage.values.reduce(0) { $0 + UInt64($1.messages) })
        // The next pass removes names without messages.
        retention.pace.request()
    }
}
