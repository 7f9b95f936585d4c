import NotifyLog
import NotifyWire

/// Deletion of messages of closed segments.
extension Log {
    /// Deletes the messages of some entries of a segment, in one transaction with the losses of subscriptions.
    ///
    /// - Parameters:
    ///   - dropped: The deleted entries that subscriptions might not have read.
    ///   - kept: The other entries of the segment.
    ///   - isPurge: Whether the messages are deleted on request.
    func delete(
        _ deleted: [SegmentEntry], dropping dropped: [SegmentEntry], keeping kept: [SegmentEntry], from row: SegmentRow,
        isPurge: Bool = false
    ) throws {
        var result = Deletion(usage: contents.names.usage(of: deleted))
        result.isPurge = isPurge
        try applyValues(of: row.segment.first...row.segment.last)
        try inTransaction(.normal) { statements in
            let unread = unreadEntries(of: dropped, through: row.segment.last)
            let isWhole = kept.isEmpty
            if !isWhole || !unread.isEmpty {
                let sequences = try sequences(of: deleted, in: row, statements)
                // A damaged message may belong to any of the entries. It stays until the whole segment is deleted.
                let damaged = isWhole ? sequences[.damaged] ?? [] : []
                for (entry, behind) in unread {
                    addLosses(of: entry, sequences[entry.key] ?? [], and: damaged, to: behind, &result)
                }
                if !isWhole {
                    for sequence in deleted.compactMap({ sequences[$0.key] }).joined() {
                        try delete(sequence...sequence, statements)
                    }
                }
            }
            if isWhole {
                try delete(row.segment.first...row.segment.last, statements)
                result.emptied = [SequenceRange(first: row.segment.first, last: row.segment.last)]
            }
            try replace(row, with: kept, statements)
            try write(result.losses, statements)
            noteDeleted(deleted, in: row.segment)
        }
        report.deletion.add(result)
        contents.removeMessages(deleted.reduce(0) { $0 + UInt64($1.messages) })
    }

    /// Deletes messages. Values among them are kept in rows of their own.
    func delete(_ sequences: ClosedRange<UInt64>, _ statements: Statements) throws {
        try applyValues(of: sequences, statements)
        try statements.messages.delete.bind(1, sequences.lowerBound)
        try statements.messages.delete.bind(2, sequences.upperBound)
        try statements.messages.delete.run()
    }

    /// The sequences of the messages of each entry, and those of damaged messages, ascending. Reads the segment's
    /// messages once for all entries.
    func sequences(
        of entries: [SegmentEntry], in row: SegmentRow, _ statements: Statements
    ) throws -> [SegmentEntry.Key: [UInt64]] {
        var sequences: [SegmentEntry.Key: [UInt64]] = Dictionary(entries.map { ($0.key, []) }) { first, _ in first }
        let rows = statements.messages.keys
        defer { rows.reset() }
        try rows.bind(1, row.segment.first)
        try rows.bind(2, row.segment.last)
        while try rows.step() {
            if MessageRow.isKeySound(rows) {
                sequences[MessageRow.key(rows)]?.append(rows.integer(0))
            } else {
                sequences[.damaged, default: []].append(rows.integer(0))
            }
        }
        return sequences
    }

    /// Replaces the row of a segment by one without the deleted entries, or removes it if no entry is left. The bounds
    /// of the segment stay, because readers use them to skip its sequences.
    func replace(_ row: SegmentRow, with kept: [SegmentEntry], _ statements: Statements) throws {
        try statements.segments.delete.bind(1, row.segment.first)
        try statements.segments.delete.run()
        guard !kept.isEmpty else { return }
        let rest = row.replacing(kept)
        try rest.write(with: statements.segments.insert)
        try pack(rest.segment, bytesBefore: row.segment.bytes, statements)
    }

    /// The entries of a segment that have unread messages, each with the subscriptions that have not read them.
    ///
    /// - Parameter end: The end of the segment.
    func unreadEntries(
        of entries: [SegmentEntry], through end: UInt64
    ) -> [(SegmentEntry, behind: [StoredSubscriptions.Subscription])] {
        entries.compactMap { entry in
            guard let name = contents.names.number(ofID: entry.name) else { return nil }
            let behind = contents.names.withBytes(of: name) { subscriptions.behind(end, for: $0) }
            return behind.isEmpty ? nil : (entry, behind)
        }
    }

    /// Adds the unacknowledged messages of an entry to the losses of the subscriptions. A subscription whose owners may
    /// not receive the name loses nothing, because it would skip the messages. A loss is an upper bound if some of its
    /// messages may have been delivered, or might not be for the subscription.
    ///
    /// - Parameter damaged: Messages that might not be for the subscriptions.
    func addLosses(
        of entry: SegmentEntry, _ sequences: [UInt64], and damaged: [UInt64] = [],
        to behind: [StoredSubscriptions.Subscription], _ result: inout Deletion
    ) {
        let name = contents.names.number(ofID: entry.name)
        let sequences = damaged.isEmpty ? sequences : (sequences + damaged).sorted()
        for subscription in behind {
            let progress = subscription.progress
            let lost = progress.unacknowledged(of: sequences)
            guard let first = lost.first, let last = lost.last, mayReceive(name, subscription) else { continue }
            result.began(progress.generation, of: subscription.id)
            result.add(
                Loss(
                    first: first, last: last, count: UInt64(lost.count),
                    isUpperBound: subscription.hasObject || !damaged.isEmpty || first <= progress.seenThrough
                        || (isDeadLetter(name) && subscription.mayLackDeadLetters(under: subscriptions.policy))),
                of: subscription.id)
        }
    }

    private func isDeadLetter(_ name: NameTable.Number?) -> Bool {
        name.map { contents.names.withBytes(of: $0) { DeadLetterHeaders.isDeadLetter($0) } } ?? false
    }

    private func mayReceive(_ name: NameTable.Number?, _ subscription: StoredSubscriptions.Subscription) -> Bool {
        guard let policy = subscriptions.policy, let name else { return true }
        return contents.names.withBytes(of: name) { policy.mayReceive($0, anyOf: subscription.owners) }
    }

    /// Adds losses to those in the log. The loss of a subscription with an attached client is an upper bound, because
    /// only the broker knows which messages were delivered.
    func write(_ losses: [DurableID: Loss], _ statements: Statements) throws {
        for (id, var loss) in losses {
            loss.isUpperBound = loss.isUpperBound || subscriptions.isAttached(id)
            try statements.losses.add(loss, of: id)
        }
    }
}

/// The deleted messages of an entry of a segment.
struct DeletedPart {
    /// Ascending.
    private(set) var sequences: [UInt64] = []
    private(set) var bytes: UInt64 = 0

    mutating func add(_ sequence: UInt64, bytes: Int) {
        sequences.append(sequence)
        self.bytes += UInt64(bytes)
    }
}

extension SegmentEntry {
    /// The entry without some of its messages. The size of a damaged message may differ from the counted one.
    func reduced(by part: DeletedPart?) -> SegmentEntry {
        guard let part else { return self }
        var rest = self
        rest.messages -= min(messages, UInt32(part.sequences.count))
        rest.bytes -= rest.messages == 0 ? bytes : min(bytes, part.bytes)
        return rest
    }

    /// The messages of this entry that `rest` no longer has.
    func reduced(to rest: SegmentEntry) -> SegmentEntry {
        SegmentEntry(name: name, uid: uid, messages: messages - rest.messages, bytes: bytes - rest.bytes)
    }
}
