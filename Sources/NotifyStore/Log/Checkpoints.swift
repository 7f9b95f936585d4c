import CSQLite
import Glibc
import NotifyLog
import NotifyWire

/// When the write-ahead log's pages are moved into the database, so that it starts over instead of growing.
///
/// SQLite would do so by itself within the commit that passes the limit. Done here it comes after that commit's
/// outcome was told, and its failures are seen.
final class Checkpoints {
    enum Mode {
        case passive
        /// Leaves an empty write-ahead log.
        case truncate
    }

    private let connection: DatabaseConnection
    /// Pages in the write-ahead log after the last commit, as SQLite reports them.
    private let pages: UnsafeMutablePointer<Int32>
    /// Pages at which to try next.
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
        // A no-op where the connection is closed, which has ended the hook.
        if let handle = connection.handle { sqlite3_wal_hook(handle, nil, nil) }
        pages.deallocate()
    }

    /// Moves the pages if they have reached `bytes`. A failure is tried again when as many more have come; meanwhile
    /// commits go on into the write-ahead log as long as the disk takes them.
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

    /// Pages that the write-ahead log must hold.
    var walPages: Int32 { pages.pointee }

    func run(_ mode: Mode) throws(SQLiteFailure) {
        let mode = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        guard sqlite3_wal_checkpoint_v2(connection.handle, nil, mode, nil, nil) == SQLITE_OK else {
            throw SQLiteFailure(connection.handle)
        }
        pages.pointee = 0
    }

    /// After a failed flush the kernel calls pages clean that never reached the disk, and a later flush would promise
    /// too much. They are still in memory, so moving them all into the database writes them again.
    func noteFailure(_ error: any Error) {
        if let failure = error as? SQLiteFailure, failure.isFailedFlush { needsRepair = true }
    }

    func repairIfNeeded() throws(SQLiteFailure) {
        guard needsRepair else { return }
        try run(.truncate)
        needsRepair = false
    }
}

extension Log {
    func checkpointIfDue() {
        // A database that was cut would get holes.
        if statements != nil, damage == nil { checkpoints.runIfDue(bytes: options.checkpointBytes) }
    }

    /// Sizes of the files by name: opening one would end SQLite's locks on it.
    func measureFiles() {
        var status = stat()
        statistics.logBytes = stat(path, &status) == 0 ? UInt64(status.st_size) : 0
        statistics.walBytes = stat(path + "-wal", &status) == 0 ? UInt64(status.st_size) : 0
    }
}
