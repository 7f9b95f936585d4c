import NotifyLog
import NotifyWire

/// Deleting messages of closed segments.
extension Log {
    /// Deletes the messages of some entries of a segment, in one transaction with the losses of subscriptions.
    ///
    /// - Parameters:
    ///   - dropped: The deleted entries that subscriptions may not have read.
    ///   - kept: The other entries of the segment.
    func delete(
        _ deleted: [SegmentEntry], dropping dropped: [SegmentEntry], keeping kept: [SegmentEntry], from row: SegmentRow
    ) throws {
        var losses: [DurableID: Loss] = [:]
        try inTransaction(.normal) { statements in
            for entry in dropped { try addLosses(of: entry, in: row, to: &losses, statements) }
            try deleteMessages(of: deleted, from: row, isWhole: kept.isEmpty, statements)
            try replace(row, with: kept, statements)
            for (id, loss) in losses { try statements.addLoss(loss, of: id) }
        }
        for (uid, usage) in deleted.usage { deletion.usage[uid, default: StoredUsage()] += usage }
        for (id, loss) in losses { deletion.add(loss, of: id) }
        statistics.logMessages -= deleted.reduce(0) { $0 + UInt64($1.messages) }
    }

    private func deleteMessages(
        of entries: [SegmentEntry], from row: SegmentRow, isWhole: Bool, _ statements: Statements
    ) throws {
        if isWhole {
            try statements.deleteMessages.bind(1, row.segment.first)
            try statements.deleteMessages.bind(2, row.segment.last)
            return try statements.deleteMessages.run()
        }
        let keys = Set(entries.map { EntryKey(name: $0.name, uid: $0.uid) })
        let rows = statements.messageKeys
        try rows.bind(1, row.segment.first)
        try rows.bind(2, row.segment.last)
        var gone: [UInt64] = []
        do {
            defer { rows.reset() }
            while try rows.step() {
                if keys.contains(EntryKey(name: rows.integer32(1), uid: rows.integer32(2))) {
                    gone.append(rows.integer(0))
                }
            }
        }
        for sequence in gone {
            try statements.deleteMessages.bind(1, sequence)
            try statements.deleteMessages.bind(2, sequence)
            try statements.deleteMessages.run()
        }
    }

    private struct EntryKey: Hashable {
        var name: UInt32
        var uid: UInt32
    }

    /// Replaces the row of a segment by one without the deleted entries. The bounds stay, because reads skip the
    /// sequences within them.
    private func replace(_ row: SegmentRow, with kept: [SegmentEntry], _ statements: Statements) throws {
        try statements.deleteSegment.bind(1, row.segment.first)
        try statements.deleteSegment.run()
        guard !kept.isEmpty else { return }
        var row = row
        row.segment.messages = kept.reduce(0) { $0 + Int($1.messages) }
        row.segment.bytes = kept.reduce(0) { $0 + Int($1.bytes) }
        row.entries = SegmentEncoding.encode(kept)
        try row.write(with: statements.insertSegment)
    }

    /// Adds the messages of an entry that subscriptions lose, because they have not acknowledged them.
    private func addLosses(
        of entry: SegmentEntry, in row: SegmentRow, to losses: inout [DurableID: Loss], _ statements: Statements
    ) throws {
        guard let name = names.number(ofID: entry.name) else { return }
        let behind = names.withBytes(of: name) { subscriptions.behind(row.segment.last, for: $0) }
        guard !behind.isEmpty else { return }
        let sequences = try sequences(of: entry, in: row, statements)
        for subscription in behind {
            let progress = subscription.progress
            let lost = sequences.filter { sequence in
                let isAcknowledged = progress.acknowledged.contains { ($0.first...$0.last).contains(sequence) }
                return sequence > progress.cursor && !isAcknowledged
            }
            guard let first = lost.first, let last = lost.last else { continue }
            let loss = Loss(
                first: first, last: last, count: UInt64(lost.count), isUpperBound: subscription.hasObject)
            if losses[subscription.id]?.add(loss) == nil { losses[subscription.id] = loss }
        }
    }

    private func sequences(of entry: SegmentEntry, in row: SegmentRow, _ statements: Statements) throws -> [UInt64] {
        let rows = statements.messageKeys
        defer { rows.reset() }
        try rows.bind(1, row.segment.first)
        try rows.bind(2, row.segment.last)
        var sequences: [UInt64] = []
        while try rows.step() {
            if rows.integer32(1) == entry.name, rows.integer32(2) == entry.uid { sequences.append(rows.integer(0)) }
        }
        return sequences
    }
}

extension Statements {
    func addLoss(_ loss: Loss, of id: DurableID) throws {
        try insertLoss.bind(1, id.rawValue)
        try insertLoss.bind(2, loss.first)
        try insertLoss.bind(3, loss.last)
        try insertLoss.bind(4, loss.count)
        try insertLoss.bind(5, Int64(loss.isUpperBound ? 1 : 0))
        try insertLoss.run()
    }
}
