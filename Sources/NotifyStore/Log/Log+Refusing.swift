import NotifyLog
import NotifyWire

/// A batch that was committed to files that are no longer at their paths, and so was refused.
///
/// The files may come back. What was refused must not be in them then.
struct RefusedBatch {
    /// Messages above this are the batch's.
    var persistedThrough: UInt64
    /// The open segment before the batch, which may have been closed with it.
    var openSegment: UInt64
    var created: [DurableID]
    var removed: [DurableRecord]

    init(_ batch: CommitBatch, after log: Log, removed: [DurableRecord]) {
        persistedThrough = log.persistedThrough
        openSegment = log.openSegment.number
        let created = batch.changes.compactMap { if case .create(let record) = $0 { record.id } else { nil } }
        self.created = created
        self.removed = removed.filter { !created.contains($0.id) }
    }
}

extension Log {
    /// Looks at what a commit would add to, and at everything where the files were not in place.
    func checkDamage() throws(StorageFailure) {
        do throws(LogFiles.Damage) {
            if damage == nil {
                guard let size = connection.walBytes else { return }
                return try files.checkWAL(size: size, pages: checkpoints.walPages)
            }
            if let damage = findDamage() { throw damage }
        } catch {
            damage = error
            throw error.storageFailure
        }
    }

    /// Looks at the files. Their sizes become the statistics'.
    func findDamage() -> LogFiles.Damage? {
        switch files.check(walPages: checkpoints.walPages) {
        case .success(let sizes):
            statistics.logBytes = sizes.database
            statistics.walBytes = sizes.wal
            damage = nil
        case .failure(let found):
            damage = found
        }
        return damage
    }

    /// Removes from the database what the refused batch left in it. Names stay, here and in memory, and so does progress: the
    /// broker reports that again.
    func takeBackRefusedBatch() throws {
        guard let batch = refusedBatch else { return }
        try inTransaction(.normal) { statements in
            try connection.execute(
                """
                DELETE FROM messages WHERE sequence > \(batch.persistedThrough);
                DELETE FROM segments WHERE segment >= \(batch.openSegment);
                """)
            for id in batch.created { try apply(.remove(id: id), statements) }
            for record in batch.removed { try apply(.create(record), statements) }
        }
        refusedBatch = nil
    }
}
