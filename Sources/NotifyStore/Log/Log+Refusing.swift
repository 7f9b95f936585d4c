import NotifyLog
import NotifyWire

/// A batch that was committed, but reported as failed, because a file was found moved away, replaced or truncated right
/// afterwards.
///
/// The batch must be removed from the database, because the database may be moved back to its path.
struct RefusedBatch {
    /// The highest sequence before the batch. Higher sequences are those of the batch.
    var persistedThrough: UInt64
    /// The first sequence of the segment that was open before the batch. The batch may have closed the segment.
    var openFrom: UInt64
    var created: [DurableID]
    var removed: [DurableRecord]
    /// The changes of losses. The broker sends them again with a later batch, which would count them twice.
    var lossChanges: [DurableChange]

    init(_ batch: CommitBatch, after contents: borrowing LogContents, removed: [DurableRecord]) {
        persistedThrough = contents.persistedThrough
        openFrom =
            contents.openSegment.isEmpty ? contents.persistedThrough + 1 : contents.openSegment.segment.first
        let created = batch.changes.compactMap { if case .create(let record) = $0 { record.id } else { nil } }
        self.created = created
        self.removed = removed.filter { !created.contains($0.id) }
        lossChanges = batch.changes.filter { $0.inverseOfLoss != nil }
    }
}

extension Log {
    /// Removes the messages of the refused batch from the database, and undoes the creation and the removal of
    /// subscriptions, the changes of their losses and the changes of values. The names of the batch stay, on disk and in
    /// memory. Other changes of subscriptions also stay: the broker reports them again.
    func undoRefusedBatch() throws {
        guard let batch = writer.refusedBatch else { return }
        try inTransaction(.normal) { statements in
            try connection.execute(
                """
                DELETE FROM messages WHERE sequence > \(batch.persistedThrough);
                DELETE FROM segments WHERE first >= \(batch.openFrom);
                DELETE FROM value_changes WHERE batch > \(batch.persistedThrough);
                DELETE FROM retained WHERE sequence > \(batch.persistedThrough);
                """)
            for change in batch.lossChanges.reversed() {
                if let inverse = change.inverseOfLoss { try apply(inverse, statements) }
            }
            for id in batch.created { try apply(.remove(id: id), statements) }
            for record in batch.removed {
                try apply(.remove(id: record.id), statements)
                try apply(.create(record), statements)
            }
        }
        writer.refusedBatch = nil
    }
}

extension DurableChange {
    /// The change that undoes a change of a subscription's loss; nil for other changes.
    fileprivate var inverseOfLoss: DurableChange? {
        switch self {
        case .addLoss(let id, let loss): .forgetLoss(id: id, loss)
        case .forgetLoss(let id, let loss): .addLoss(id: id, loss)
        default: nil
        }
    }
}
