import NIOCore
import NotifyLog

/// Deleting history to make room for a batch that the log would otherwise refuse.
extension Log {
    /// The longest time for which commits wait for room, besides the last transaction.
    private static let roomTime = Duration.seconds(2)
    /// The free pages that are returned at a time.
    private static let pagesPerStep = 512

    /// Makes room for a batch: returns the space of earlier deletions if the disk is short of it, and then deletes the
    /// oldest read messages, and at least a segment, whatever history the rules keep.
    ///
    /// - Returns: Whether there is more room than before.
    func makeRoom(for batch: CommitBatch) -> Bool {
        guard damage == nil, refusedBatch == nil, batch.isProbe || !batch.blocks.isEmpty else { return false }
        do {
            let end = ContinuousClock.now + Self.roomTime
            let pages = checkpoints.walPages
            try checkpoints.run(.passive)
            let hasReturnedPages = try returnPages(for: batch, until: end)
            guard let needed = try missingBytes(for: batch) else { return false }
            // That was enough.
            if needed == 0, pages > 0 || hasReturnedPages { return true }
            guard try deleteHistory(bytes: needed + UInt64(options.segmentBytes), until: end) > 0 else {
                return pages > 0 || hasReturnedPages
            }
            deletion.madeRoom = true
            try checkpoints.run(.passive)
            _ = try returnPages(for: batch, until: end)
            return true
        } catch {
            checkpoints.noteFailure(error)
            // The failure of the batch is reported, and damage is noted for the next one.
            _ = failure(error)
            return false
        }
    }

    /// Deletes the read messages of the next oldest segment if the log was nearly full when the pass came to this step:
    /// had used more than 15/16 of its limit. A pass follows whenever the log has grown by 1/64, so batches find room,
    /// and needn't wait for ``makeRoom(for:)``.
    ///
    /// - Returns: Whether more must be deleted.
    func giveWay(_ survey: inout RetentionSurvey) throws -> Bool {
        var room = try survey.room ?? RetentionSurvey.Room(needed: nearlyFullBytes())
        defer { survey.room = room }
        guard room.needed > 0, let row = try nextSegment(above: room.position) else { return false }
        room.position = row.segment.first
        let freed = try deleteHistory(in: row, &survey)
        room.needed -= min(freed, room.needed)
        if freed > 0 { deletion.madeRoom = true }
        return true
    }

    /// The used bytes above 15/16 of the log's limit.
    private func nearlyFullBytes() throws -> UInt64 {
        guard let maximum = options.retention.maximumBytes else { return 0 }
        let used = try countUsedBytes()
        let bound = maximum - maximum / 16
        return used > bound ? used - bound : 0
    }

    /// Returns free pages to the file system until the disk has room for the batch. In steps, so that the write-ahead
    /// log stays small.
    ///
    /// - Returns: Whether pages were returned.
    private func returnPages(for batch: CommitBatch, until end: ContinuousClock.Instant) throws -> Bool {
        var hasReturned = false
        while diskShortage(for: batch) > 0, ContinuousClock.now < end, try openStatements().freePages.number() > 0 {
            try removeFreePages(limit: Self.pagesPerStep)
            try checkpoints.run(.truncate)
            hasReturned = true
        }
        return hasReturned
    }

    /// The bytes that the batch takes: its pages are in the write-ahead log at first, and then in the database, too.
    /// For a probe, the spare room that it requires.
    private func room(for batch: CommitBatch) -> UInt64 {
        2 * batch.blocks.reduce(0) { $0 + UInt64($1.frames.writerIndex) } + (batch.isProbe ? 1 << 20 : 64 << 10)
    }

    /// The bytes by which the log or its disk would exceed a limit; nil if the whole log is smaller.
    private func missingBytes(for batch: CommitBatch) throws -> UInt64? {
        let used = try countUsedBytes()
        let room = room(for: batch)
        var missing: UInt64 = 0
        if let maximum = options.retention.maximumBytes, used + room > maximum { missing = used + room - maximum }
        missing = max(missing, diskShortage(for: batch))
        return missing < used ? missing : nil
    }

    /// The bytes that the disk lacks for the batch and the free space that must stay.
    private func diskShortage(for batch: CommitBatch) -> UInt64 {
        diskMeasured = nil
        measureDisk()
        let minimum = options.retention.minimumFreeBytes
        guard let free = statistics.disk?.freeBytes else { return 0 }
        let room = room(for: batch)
        return free < minimum + room ? minimum + room - free : 0
    }

    /// - Returns: The bytes of the deleted messages.
    private func deleteHistory(bytes needed: UInt64, until end: ContinuousClock.Instant) throws -> UInt64 {
        var survey = RetentionSurvey(options.retention, now: clock.now, nextName: names.nextID)
        var freed: UInt64 = 0
        var position: UInt64 = 0
        while freed < needed, ContinuousClock.now < end, let row = try nextHistory(above: position, &survey) {
            position = row.segment.first
            freed += try deleteHistory(in: row, &survey)
            checkpointIfDue()
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
            guard let name = names.number(ofID: entry.name) else {
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

    /// The next segment. After the closed ones the open one, which is closed if it has read messages.
    private func nextHistory(above position: UInt64, _ survey: inout RetentionSurvey) throws -> SegmentRow? {
        if let row = try nextSegment(above: position) { return row }
        let last = openSegment.segment.last
        let entries = openSegment.entries
        for entry in entries {
            guard let name = names.number(ofID: entry.name) else { continue }
            if state(of: name, in: &survey).readThrough >= last {
                try closeOpenSegment()
                return try nextSegment(above: position)
            }
        }
        return nil
    }

    func nextSegment(above sequence: UInt64) throws -> SegmentRow? {
        let rows = try openStatements().segmentAbove
        defer { rows.reset() }
        try rows.bind(1, sequence)
        return try rows.step() ? segment(in: rows) : nil
    }
}
