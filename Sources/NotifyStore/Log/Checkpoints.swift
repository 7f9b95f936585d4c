import CSQLite
import NotifyLog
import NotifySystem
import NotifyWire

/// Runs checkpoints. A checkpoint moves the pages of the write-ahead log into the database, so that the write-ahead log
/// does not keep growing.
///
/// SQLite's automatic checkpoint would run within the commit that exceeds the limit, and would hide the failures of the
/// checkpoint. The checkpoints here run after the outcome of the commit was reported.
final class Checkpoints {
    enum Mode {
        case passive
        /// Also truncates the write-ahead log to zero bytes.
        case truncate
    }

    /// The size of a page and its header in the write-ahead log.
    static let frameBytes = UInt64(Schema.pageSize + 24)

    private let connection: DatabaseConnection
    /// The number of pages in the write-ahead log after the last commit, as SQLite reports it; 0 after a checkpoint.
    private let pages: UnsafeMutablePointer<Int32>
    /// The number of pages at which the next attempt is due after a failure.
    private var limit: Int32 = 0
    private var needsRepair = false

    init(connection: DatabaseConnection) {
        self.connection = connection
        pages = .allocate(capacity: 1)
        pages.initialize(to: 0)
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, pages)
    }

    deinit {
        // A closed connection has no hook any more.
        if let handle = connection.handle { sqlite3_wal_hook(handle, nil, nil) }
        pages.deallocate()
    }

    /// Runs a checkpoint if the write-ahead log has reached `bytes`. After a failure, the next attempt follows once the
    /// write-ahead log has grown by `bytes` again. Until then, commits continue to append to it as long as the disk has
    /// room.
    func runIfDue(bytes: Int) {
        let step = Int32(clamping: max(1, bytes / Schema.pageSize))
        guard pages.pointee >= max(limit, step) else { return }
        do {
            try run(.passive)
            limit = 0
        } catch {
            noteFailure(error)
            limit = pages.pointee + step
        }
    }

    /// A lower bound of the pages in the write-ahead log's file. A file with fewer pages was truncated.
    var walPages: Int32 { pages.pointee }

    func run(_ mode: Mode) throws(SQLiteFailure) {
        let mode = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        guard let handle = connection.handle,
            sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil) == SQLITE_OK
        else { throw SQLiteFailure(connection.handle) }
        pages.pointee = 0
    }

    /// Requests a repair if the error is a failed flush.
    ///
    /// After a failed flush the kernel may mark pages as clean that never reached the disk, so that a later flush
    /// succeeds without writing them. The pages are still in the page cache, so a checkpoint of all pages writes their
    /// content to disk again.
    func noteFailure(_ error: any Error) {
        if let failure = error as? SQLiteFailure, failure.isFailedFlush { needsRepair = true }
    }

    func repairIfNeeded() throws(SQLiteFailure) {
        guard needsRepair else { return }
        try run(.truncate)
        needsRepair = false
    }
}

extension LogDisk {
    func checkpointIfDue() {
        // A checkpoint would leave holes in a truncated database.
        if isOpen, damage == nil { checkpoints.runIfDue(bytes: checkpointBytes) }
    }
}
