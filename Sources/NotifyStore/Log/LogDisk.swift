import Glibc
import NIOCore
import NotifyLog
import NotifySystem

/// The files of a log and their disk: damage and sizes of the files, and the room that is left.
struct LogDisk: ~Copyable {
    let path: String
    private let connection: DatabaseConnection
    /// Nil once the log is closed.
    private var pages: PageStatements?
    private let disk: StoreDisk
    /// The limits of the log's size and of the free space.
    private(set) var retention: RetentionPolicy
    private let mostCheckpointBytes: Int
    let reserve: DiskReserve
    let checkpoints: Checkpoints

    /// The identities of the open files, to detect that a file was moved away, replaced or truncated.
    private(set) var files: LogFiles
    /// The damage of the files found at the last check: a file was moved away, replaced or truncated. Damage of the
    /// content is `LogDatabase.corruption`.
    private(set) var damage: LogFiles.Damage?
    /// The sizes of the files as last measured.
    private(set) var sizes = LogFiles.Sizes()

    /// The space of the file system, as last measured; nil if it can't be read.
    private var space: StoreStatistics.Disk?
    private var spaceMeasured: ContinuousClock.Instant?
    /// An upper bound of the bytes by which the database has grown since `spaceMeasured`.
    private var unmeasuredBytes: UInt64 = 0
    /// The bytes that count towards the limit of the log, measured together with the space.
    private var measuredBytes: UInt64 = 0
    /// The bytes in used pages of the database, as last counted for a batch.
    private var usedBytes: UInt64 = 0
    /// An upper bound of the bytes in used pages. The pages are counted only when the bound exceeds the log's limit,
    /// because counting takes longer than storing a message. Nil until the first count.
    private var usedBytesBound: UInt64?

    init(_ connection: DatabaseConnection, path: String, _ options: StoreOptions) throws {
        let files = try LogFiles(
            path: path, pageSize: UInt64(connection.integer("PRAGMA page_size")),
            pages: UInt64(connection.integer("PRAGMA page_count")))
        let pages = try PageStatements(connection)
        self.connection = connection
        self.path = path
        self.files = files
        self.pages = pages
        disk = options.disk
        retention = options.retention
        mostCheckpointBytes = options.checkpointBytes
        reserve = DiskReserve(beside: path, checkpointBytes: options.checkpointBytes)
        checkpoints = Checkpoints(connection: connection)
        limitWALFile()
    }

    mutating func setLimits(_ policy: RetentionPolicy) {
        retention = policy
        limitWALFile()
    }

    private func limitWALFile() {
        // Without a limit, the file of the write-ahead log would keep its largest size. SQLite truncates the file to
        // the limit when it begins to write from its start again.
        try? connection.execute("PRAGMA journal_size_limit = \(walByteLimit)")
    }

    /// The free space, beyond the minimum, at which flushes may extend the write-ahead log in advance.
    private static let spareBytesToExtendLog: UInt64 = 64 << 20

    mutating func finalizeStatements() { pages = nil }

    var isOpen: Bool { pages != nil }

    // MARK: Damage

    /// Checks the size of the write-ahead log before a commit, or both files if the last check found damage. A file is
    /// damaged if it was moved away, replaced or truncated.
    mutating func checkDamage() throws(StorageFailure) {
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

    /// Checks the files, and updates ``damage`` and ``sizes``.
    mutating func findDamage() -> LogFiles.Damage? {
        switch files.check(walPages: checkpoints.walPages) {
        case .success(let found): (sizes, damage) = (found, nil)
        case .failure(let found): damage = found
        }
        return damage
    }

    // MARK: Sizes

    /// Updates the sizes of the files and the space of the file system.
    mutating func measure() {
        measureSizes()
        measureSpace()
    }

    /// Updates the sizes of the files. Reads the sizes by path: opening and closing a file would release SQLite's
    /// locks.
    mutating func measureSizes() {
        sizes.database = (try? FileStatus(at: path))?.bytes ?? 0
        sizes.wal = (try? FileStatus(at: path + "-wal"))?.bytes ?? 0
    }

    /// Updates the space of the file system, and the bytes that count towards the limit, at most once per second.
    mutating func measureSpace() {
        let now = ContinuousClock.now
        guard spaceMeasured.map({ now - $0 >= .seconds(1) }) ?? true else { return }
        spaceMeasured = now
        unmeasuredBytes = 0
        space = disk.space(path).map {
            .init(freeBytes: $0.freeBytes, totalBytes: $0.totalBytes, isNearlyFull: $0.isNearlyFull)
        }
        let spareBytes = space.map { $0.freeBytes - min($0.freeBytes, retention.minimumFreeBytes) } ?? 0
        connection.extendLog(upTo: spareBytes >= Self.spareBytesToExtendLog ? checkpointBytes : 0)
        if retention.maximumBytes != nil, let used = try? countUsedBytes() {
            measuredBytes = used + UInt64(checkpoints.walPages) * UInt64(Schema.pageSize)
        }
    }

    /// The free bytes of the file system at this moment; nil if they can't be read.
    var freeBytes: UInt64? { disk.space(path)?.freeBytes }

    func report(in statistics: inout StoreStatistics) {
        statistics.logBytes = sizes.database
        statistics.walBytes = sizes.wal
        statistics.usedBytes = measuredBytes
        statistics.logByteLimit = retention.maximumBytes
        statistics.disk = space
    }

    // MARK: Pages

    typealias Pages = (all: UInt64, free: UInt64)

    func countPages() throws -> Pages {
        guard let pages else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        return try (pages.count.number(), pages.countFree.number())
    }

    /// The bytes of the database's pages that are in use.
    func countUsedBytes() throws -> UInt64 {
        let pages = try countPages()
        guard pages.free <= pages.all else {
            throw StorageFailure(kind: .damaged, message: "\(pages.free) of \(pages.all) pages are free")
        }
        return (pages.all - pages.free) * UInt64(Schema.pageSize)
    }

    /// The bytes by which the next checkpoint enlarges the database file: the pages of the write-ahead log that are not
    /// in the file yet.
    mutating func missingPageBytes() throws -> UInt64 {
        measureSizes()
        let bytes = try countPages().all * UInt64(Schema.pageSize)
        return bytes - min(bytes, sizes.database)
    }

    /// Removes free pages from the database. A limit of 0 removes all.
    mutating func removeFreePages(limit: Int) throws {
        try connection.execute("PRAGMA incremental_vacuum(\(limit))")
        files.databaseShrinks(to: UInt64(try connection.integer("PRAGMA page_count")) * UInt64(Schema.pageSize))
    }

    // MARK: Room

    /// Checks that the batch has not made the log larger than its limit, and that the disk has enough free space.
    ///
    /// A probe (a batch that tests whether storage works again) requires spare room, 1/16 of each limit, at most 1 MiB,
    /// so that a successful probe is not followed by a refused batch.
    ///
    /// - Parameter unappliedBytes: The bytes that changed values need when they are written to their rows.
    mutating func checkCapacity(_ batch: CommitBatch, unappliedBytes: UInt64) throws {
        let growth = batch.maximumGrowth
        try checkFreeSpace(for: batch, growth, unappliedBytes)
        guard let maximumBytes = retention.maximumBytes else { return }
        let walBytes = UInt64(checkpoints.walPages) * UInt64(Schema.pageSize)
        let needed = walBytes + (batch.isProbe ? Self.spareRoom(maximumBytes) : 0)
        if let earlier = usedBytesBound {
            let bound = earlier + growth
            usedBytesBound = bound
            if bound + needed <= maximumBytes { return }
        }
        usedBytes = try countUsedBytes() + unappliedBytes
        usedBytesBound = usedBytes
        guard usedBytes + needed <= maximumBytes else {
            throw StorageFailure(
                kind: .full,
                message: "the log has reached log.max_bytes (\(maximumBytes) bytes), and no history is left to delete: "
                    + "\"notifyctl durable list\" shows which durable subscriptions are behind")
        }
    }

    private mutating func checkFreeSpace(for batch: CommitBatch, _ growth: UInt64, _ unappliedBytes: UInt64) throws {
        // Messages must not use the space of the released reserve.
        let minimum = retention.minimumFreeBytes + reserve.releasedBytes
        unmeasuredBytes += growth
        // Each page of the write-ahead log will also be in the database.
        let plenty =
            minimum + UInt64(checkpoints.walPages) * UInt64(Schema.pageSize)
            + 2 * (unmeasuredBytes + unappliedBytes)
        if let free = space?.freeBytes, free < plenty { spaceMeasured = nil }
        measureSpace()
        guard let free = space?.freeBytes, free < plenty || batch.isProbe else { return }
        let room = try missingFileBytes(for: growth + unappliedBytes) + (batch.isProbe ? Self.spareRoom(minimum) : 0)
        guard free >= minimum, free - minimum >= room else {
            if free >= retention.minimumFreeBytes { throw diskFull }
            throw StorageFailure(
                kind: .full,
                message:
                    "the file system of '\(AccessProblem.directory(of: path))' has \(free) free bytes, fewer than the "
                    + "\(retention.minimumFreeBytes) of log.min_free_bytes: make room on it, or delete stored "
                    + "messages with \"notifyctl purge PATTERN\"")
        }
    }

    /// The bytes by which the files must grow for a batch: the write-ahead log for the pages of the batch, and the
    /// database for all pages of the write-ahead log, which a checkpoint moves there. Without that room, no checkpoint
    /// could run on a full disk, so nothing could be deleted.
    private mutating func missingFileBytes(for growth: UInt64) throws -> UInt64 {
        let missing = try missingPageBytes()
        let walBytes = UInt64(checkpoints.walPages) * Checkpoints.frameBytes + growth
        return missing + walBytes - min(walBytes, sizes.wal)
    }

    private static func spareRoom(_ limit: UInt64) -> UInt64 { min(limit / 16, 1 << 20) }

    /// Counts the bytes of a change towards the limits of later batches. The change itself is not refused for lack of
    /// room.
    mutating func noteGrowth(_ bytes: UInt64) {
        usedBytesBound = usedBytesBound.map { $0 + bytes }
        unmeasuredBytes += bytes
    }

    /// The bytes by which the log or its disk would exceed a limit with the batch; nil if even deleting the whole log
    /// would not free them.
    mutating func missingBytes(for batch: CommitBatch, unappliedBytes: UInt64) throws -> UInt64? {
        let used = try countUsedBytes() + unappliedBytes
        let room = batch.roomToMake
        var missing: UInt64 = 0
        if let maximum = retention.maximumBytes, used + room > maximum { missing = used + room - maximum }
        missing = max(missing, shortage(for: batch, unappliedBytes: unappliedBytes))
        return missing < used ? missing : nil
    }

    /// The bytes that the disk lacks for the batch and the minimum of free space.
    mutating func shortage(for batch: CommitBatch, unappliedBytes: UInt64) -> UInt64 {
        spaceMeasured = nil
        measureSpace()
        guard let free = space?.freeBytes else { return 0 }
        let needed = retention.minimumFreeBytes + batch.roomToMake + unappliedBytes
        return free < needed ? needed - free : 0
    }

    /// The size of the write-ahead log at which it is checkpointed: as configured, or less while the reserve is
    /// released or small. If the log has a limit, the size is also at most ``walByteLimit``, and at most half of the
    /// room that is left, because the pages of the write-ahead log count towards the limit. But the limit does not
    /// lower it below 64 KiB.
    var checkpointBytes: Int {
        let most = min(mostCheckpointBytes, reserve.keepsLogShort ? Self.shortCheckpointBytes : .max)
        guard let maximumBytes = retention.maximumBytes else { return most }
        let room = maximumBytes - min(usedBytes, maximumBytes)
        return min(most, max(64 << 10, Int(clamping: min(room / 2, walByteLimit))))
    }
}

extension CommitBatch {
    /// The most bytes by which the batch can enlarge the database or the write-ahead log: a constant for the pages that
    /// each batch writes, twice the bytes of the messages, because a page may be only half full, and the columns of
    /// each row. A value is written twice, the second time when it is written to its row, and may change a page of the
    /// table and one of its index.
    var maximumGrowth: UInt64 {
        let messages = blocks.reduce(64 << 10) { $0 + 2 * $1.frames.readableBytes + 512 * $1.entries.count }
        guard !values.isEmpty else { return UInt64(messages) }
        return UInt64(2 * messages + 2 * Schema.pageSize * values.count)
    }

    /// The bytes to free before the batch is tried again. A probe requires spare room.
    fileprivate var roomToMake: UInt64 { maximumGrowth + (isProbe ? 1 << 20 : 0) }
}
