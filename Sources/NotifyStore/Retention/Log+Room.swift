import NIOCore
import NotifyLog

/// Deleting history to make room for a batch that the log would otherwise refuse.
extension Log {
    /// The longest time for which commits wait for room. The last transaction may take longer.
    private static let roomTime = Duration.seconds(2)
    /// The longest time for which commits wait for values to be written to their rows, for which space is reserved.
    private static let valueTime = Duration.milliseconds(500)
    /// The most free pages that are returned in one step.
    private static let pagesPerStep = 512

    /// Makes room for a batch: first returns the space of earlier deletions, if the disk lacks space. If that is not
    /// enough, deletes the oldest read messages, at least a segment, even if the rules keep them as history.
    ///
    /// - Returns: Whether there is more room than before.
    func makeRoom(for batch: CommitBatch) -> Bool {
        guard isSound, batch.isProbe || !batch.blocks.isEmpty else { return false }
        do {
            let unapplied = values.bytes
            // On a full disk this may fail, but room can be made nevertheless.
            try? applyValues(until: .now + Self.valueTime)
            let hasApplied = values.bytes < unapplied
            let end = ContinuousClock.now + Self.roomTime
            let pages = disk.checkpoints.walPages
            try disk.checkpoints.run(.passive)
            let hasReturnedPages = try returnPages(for: batch, until: end)
            guard let needed = try disk.missingBytes(for: batch, unappliedBytes: unappliedBytes) else { return false }
            // Moving pages of the write-ahead log, or returning free pages, was enough.
            if needed == 0, pages > 0 || hasReturnedPages || hasApplied { return true }
            guard try deleteHistory(bytes: needed + UInt64(options.segmentBytes), until: end) > 0 else {
                return pages > 0 || hasReturnedPages || hasApplied
            }
            report.deletion.madeRoom = true
            try disk.checkpoints.run(.passive)
            _ = try returnPages(for: batch, until: end)
            return true
        } catch {
            disk.checkpoints.noteFailure(error)
            // The caller reports the failure of the batch itself. Damage is noted, for the next batch.
            _ = failure(error)
            return false
        }
    }

    /// Deletes the read messages of the next segment, from the oldest to the newest, if the log had used more than
    /// 15/16 of its limit when the pass came to this step. A pass follows whenever the log has grown by 1/64, so most
    /// batches find room, and needn't wait for ``makeRoom(for:)``.
    ///
    /// - Returns: Whether more must be deleted.
    func giveWay(_ survey: inout RetentionSurvey) throws -> Bool {
        var room = try survey.room ?? RetentionSurvey.Room(needed: nearlyFullBytes())
        defer { survey.room = room }
        guard room.needed > 0, let row = try nextSegment(above: room.position) else { return false }
        room.position = row.segment.first
        let freed = try deleteHistory(in: row, &survey)
        room.needed -= min(freed, room.needed)
        if freed > 0 { report.deletion.madeRoom = true }
        return true
    }

    /// The used bytes above 15/16 of the log's limit.
    private func nearlyFullBytes() throws -> UInt64 {
        guard let maximum = options.retention.maximumBytes else { return 0 }
        let used = try disk.countUsedBytes()
        let bound = maximum - maximum / 16
        return used > bound ? used - bound : 0
    }

    /// Returns free pages to the file system until the disk has room for the batch. Works in steps, so that the
    /// write-ahead log stays small.
    ///
    /// - Returns: Whether pages were returned.
    private func returnPages(for batch: CommitBatch, until end: ContinuousClock.Instant) throws -> Bool {
        var hasReturned = false
        while disk.shortage(for: batch, unappliedBytes: unappliedBytes) > 0, ContinuousClock.now < end,
            try disk.countPages().free > 0
        {
            try disk.removeFreePages(limit: Self.pagesPerStep)
            try disk.checkpoints.run(.truncate)
            hasReturned = true
        }
        return hasReturned
    }

    /// - Returns: The bytes of the deleted messages.
    private func deleteHistory(bytes needed: UInt64, until end: ContinuousClock.Instant) throws -> UInt64 {
        var survey = RetentionSurvey(options.retention, now: clock.now, nextName: contents.names.nextID)
        var freed: UInt64 = 0
        var position: UInt64 = 0
        while freed < needed, ContinuousClock.now < end, let row = try nextHistory(above: position, &survey) {
            position = row.segment.first
            freed += try deleteHistory(in: row, &survey)
            disk.checkpointIfDue()
        }
        return freed
    }

    /// Deletes the read messages of a closed segment.
    ///
    /// - Returns: The bytes of the deleted messages.
    private func deleteHistory(in row: SegmentRow, _ survey: inout RetentionSurvey) throws -> UInt64 {
        var deleted: [SegmentEntry] = []
        var kept: [SegmentEntry] = []
        for entry in row.withEntries({ Array($0) }) {
            guard let name = contents.names.number(ofID: entry.name) else {
                kept.append(entry)
                continue
            }
            let isRead = state(of: name, in: &survey).readThrough >= row.segment.last
            if isRead { deleted.append(entry) } else { kept.append(entry) }
        }
        guard !deleted.isEmpty else { return 0 }
        try delete(deleted, dropping: [], keeping: kept, from: row)
        return deleted.reduce(0) { $0 + $1.bytes }
    }

    /// The next segment to delete from: a closed one, and in the end the open one if some of its messages are read. The
    /// open segment is closed first.
    private func nextHistory(above position: UInt64, _ survey: inout RetentionSurvey) throws -> SegmentRow? {
        if let row = try nextSegment(above: position) { return row }
        let last = contents.openSegment.segment.last
        let entries = contents.openSegment.entries
        for entry in entries {
            guard let name = contents.names.number(ofID: entry.name) else { continue }
            if state(of: name, in: &survey).readThrough >= last {
                try closeOpenSegment()
                return try nextSegment(above: position)
            }
        }
        return nil
    }

    func nextSegment(above sequence: UInt64) throws -> SegmentRow? {
        let rows = try openStatements().segments.above
        defer { rows.reset() }
        try rows.bind(1, sequence)
        return try rows.step() ? segment(in: rows) : nil
    }
}
