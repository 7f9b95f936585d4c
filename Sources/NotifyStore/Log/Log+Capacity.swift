import NIOCore
import NotifyLog
import NotifySystem

/// The limits of the log's size and of the free space on its disk.
extension Log {
    /// Refuses a batch that has made the log larger than its limit, or any batch while the disk has too little free
    /// space.
    ///
    /// A probe requires spare room (1/16 of each limit, at most 1 MiB), so that it does not succeed if the log would
    /// refuse the next batch.
    func checkCapacity(_ batch: CommitBatch) throws {
        try checkFreeSpace(for: batch)
        guard let maximumBytes = options.retention.maximumBytes else { return }
        let walBytes = UInt64(checkpoints.walPages) * UInt64(Schema.pageSize)
        let needed = walBytes + (batch.isProbe ? Self.spareRoom(maximumBytes) : 0)
        if let earlier = usedBytesBound {
            let bound = earlier + Self.maximumGrowth(batch)
            usedBytesBound = bound
            if bound + needed <= maximumBytes { return }
        }
        usedBytes = try countUsedBytes()
        usedBytesBound = usedBytes
        guard usedBytes + needed <= maximumBytes else {
            throw StorageFailure(
                kind: .full,
                message: "the log has reached log.max_bytes (\(maximumBytes) bytes), and no history is left to delete: "
                    + "\"notifyctl durable list\" shows which durable subscriptions are behind")
        }
    }

    /// The bytes of the database's pages that are in use.
    func countUsedBytes() throws -> UInt64 {
        let statements = try openStatements()
        let (pages, freePages) = (try statements.pageCount.number(), try statements.freePages.number())
        guard freePages <= pages else {
            throw StorageFailure(kind: .damaged, message: "\(freePages) of \(pages) pages are free")
        }
        return (pages - freePages) * UInt64(Schema.pageSize)
    }

    /// The most bytes by which a batch can make the database larger: SQLite fills its pages by half at least, and a row
    /// has its own columns besides the message.
    private static func maximumGrowth(_ batch: CommitBatch) -> UInt64 {
        let pages = 4 * Schema.pageSize
        return UInt64(
            batch.blocks.reduce(pages) { $0 + 2 * $1.frames.readableBytes + 512 * $1.entries.count })
    }

    private func checkFreeSpace(for batch: CommitBatch) throws {
        // Messages must not take the room that the released reserve has made.
        let minimum = options.retention.minimumFreeBytes + reserve.releasedBytes
        unmeasuredBytes += Self.maximumGrowth(batch)
        // The pages are in the write-ahead log and in the database.
        let plenty = minimum + UInt64(checkpoints.walPages) * UInt64(Schema.pageSize) + 2 * unmeasuredBytes
        if let free = statistics.disk?.freeBytes, free < plenty { diskMeasured = nil }
        measureDisk()
        guard let free = statistics.disk?.freeBytes, free < plenty || batch.isProbe else { return }
        let room = try missingFileBytes(for: batch) + (batch.isProbe ? Self.spareRoom(minimum) : 0)
        guard free >= minimum, free - minimum >= room else {
            if free >= options.retention.minimumFreeBytes { throw diskFull }
            throw StorageFailure(
                kind: .full,
                message:
                    "the file system of '\(AccessProblem.directory(of: path))' has \(free) free bytes, fewer than the "
                    + "\(options.retention.minimumFreeBytes) of log.min_free_bytes: make room on it, or delete stored "
                    + "messages with \"notifyctl purge PATTERN\"")
        }
    }

    /// The bytes by which the files are too small for a batch: the write-ahead log for its pages, and the database for
    /// all pages of the write-ahead log, which a checkpoint moves there. Without that room, the write-ahead log could
    /// not begin again within its file, so that on a full disk nothing could be deleted.
    private func missingFileBytes(for batch: CommitBatch) throws -> UInt64 {
        measureSizes()
        let databaseBytes = try openStatements().pageCount.number() * UInt64(Schema.pageSize)
        let walBytes = UInt64(checkpoints.walPages) * Checkpoints.frameBytes + Self.expectedWALBytes(batch)
        return databaseBytes - min(databaseBytes, statistics.logBytes) + walBytes - min(walBytes, statistics.walBytes)
    }

    /// The bytes that a batch usually takes in the write-ahead log.
    private static func expectedWALBytes(_ batch: CommitBatch) -> UInt64 {
        UInt64(batch.blocks.reduce(64 << 10) { $0 + $1.frames.readableBytes * 5 / 4 + 128 * $1.entries.count })
    }

    /// Whether the disk has room for all pages of the write-ahead log in the database.
    func hasRoomForCheckpoint() throws -> Bool {
        guard let free = options.disk.space(path)?.freeBytes else { return true }
        measureSizes()
        let bytes = try openStatements().pageCount.number() * UInt64(Schema.pageSize)
        return bytes - min(bytes, statistics.logBytes) <= free
    }

    private static func spareRoom(_ limit: UInt64) -> UInt64 { min(limit / 16, 1 << 20) }

    /// The size of the write-ahead log at which it is checkpointed. Until then, its pages count towards the limit of
    /// the log, so it may take at most half of the room that is left, and ``walByteLimit``, or 64 KiB.
    var checkpointBytes: Int {
        let most = min(options.checkpointBytes, reserve.keepsLogShort ? Self.shortCheckpointBytes : .max)
        guard let maximumBytes = options.retention.maximumBytes else { return most }
        let room = maximumBytes - min(usedBytes, maximumBytes)
        return min(most, max(64 << 10, Int(clamping: min(room / 2, walByteLimit))))
    }
}
