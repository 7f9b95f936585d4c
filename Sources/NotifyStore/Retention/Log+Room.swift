import NIOCore
import NotifyLog

/// Deleting history to make room for a batch that the log would otherwise refuse.
extension Log {
    /// The longest time for which commits wait for room, besides the last transaction.
    private static let roomTime = Duration.seconds(2)

    /// Deletes the oldest read messages, and at least a segment, until a batch has room, whatever history the rules keep.
    ///
    /// - Returns: Whether there is more room than before.
    func makeRoom(for batch: CommitBatch) -> Bool {
        guard damage == nil, refusedBatch == nil, batch.isProbe || !batch.blocks.isEmpty else { return false }
        do {
            let pages = checkpoints.walPages
            try checkpoints.run(.passive)
            guard let needed = try missingBytes(for: batch) else { return false }
            // The checkpoint was enough.
            if needed == 0, pages > 0 { return true }
            guard try deleteHistory(bytes: needed + UInt64(options.segmentBytes)) > 0 else { return pages > 0 }
            try checkpoints.run(.passive)
            if options.retention.minimumFreeBytes > 0 {
                try removeFreePages(limit: 0)
                try checkpoints.run(.truncate)
                diskMeasured = nil
            }
            return true
        } catch {
            checkpoints.noteFailure(error)
            // The failure of the batch is reported, and damage is noted for the next one.
            _ = failure(error)
            return false
        }
    }

    /// The bytes that the batch takes: its pages are in the write-ahead log at first, and then in the database, too. For
    /// a probe, the spare room that it requires.
    private func room(for batch: CommitBatch) -> UInt64 {
        2 * batch.blocks.reduce(0) { $0 + UInt64($1.frames.writerIndex) } + (batch.isProbe ? 1 << 20 : 64 << 10)
    }

    /// The bytes by which the log or its disk would exceed a limit; nil if the whole log is smaller.
    private func missingBytes(for batch: CommitBatch) throws -> UInt64? {
        let statements = try openStatements()
        let used = try (statements.pageCount.number() - statements.freePages.number()) * UInt64(Schema.pageSize)
        let room = room(for: batch)
        var missing: UInt64 = 0
        if let maximum = options.retention.maximumBytes, used + room > maximum { missing = used + room - maximum }
        diskMeasured = nil
        measureDisk()
        let minimum = options.retention.minimumFreeBytes
        if minimum > 0, let free = statistics.disk?.freeBytes, free < minimum + room {
            missing = max(missing, minimum + room - free)
        }
        return missing < used ? missing : nil
    }

    /// - Returns: The bytes of the deleted messages.
    private func deleteHistory(bytes needed: UInt64) throws -> UInt64 {
        let end = ContinuousClock.now + Self.roomTime
        var survey = RetentionSurvey(options.retention, now: clock.now, nextName: names.nextID)
        var freed: UInt64 = 0
        var position: UInt64 = 0
        while freed < needed, ContinuousClock.now < end, let row = try nextSegment(above: position) {
            position = row.segment.first
            var deleted: [SegmentEntry] = []
            var kept: [SegmentEntry] = []
            for entry in row.withEntries({ Array($0) }) {
                guard let name = names.number(ofID: entry.name) else {
                    kept.append(entry)
                    continue
                }
                let isRead = state(of: name, in: &survey).readThrough >= row.segment.last
                if isRead { deleted.append(entry) } else { kept.append(entry) }
            }
            guard !deleted.isEmpty else { continue }
            try delete(deleted, dropping: [], keeping: kept, from: row)
            freed += deleted.reduce(0) { $0 + $1.bytes }
            checkpointIfDue()
        }
        return freed
    }

    func nextSegment(above sequence: UInt64) throws -> SegmentRow? {
        let rows = try openStatements().segmentAbove
        defer { rows.reset() }
        try rows.bind(1, sequence)
        return try rows.step() ? segment(in: rows) : nil
    }
}
