import CSQLite
import Glibc
import NotifyLog
import NotifyWire

/// The error of a failed call of SQLite's C interface.
struct SQLiteFailure: Error, CustomStringConvertible {
    /// The extended result code.
    let code: Int32
    let message: String
    let systemError: Int32

    init(_ connection: OpaquePointer?) {
        code = sqlite3_extended_errcode(connection)
        message = String(cString: sqlite3_errmsg(connection))
        systemError = sqlite3_system_errno(connection)
    }

    var primaryCode: Int32 { code & 0xFF }

    /// Whether a flush failed (SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC). The kernel may have dropped the data, and
    /// reports the loss only once.
    var isFailedFlush: Bool { code == SQLITE_IOERR | (4 << 8) || code == SQLITE_IOERR | (5 << 8) }

    /// Whether the disk is full or the quota exhausted. SQLite reports SQLITE_FULL only if a write fails with ENOSPC,
    /// not for an exhausted quota or a file that can't be created.
    var isFull: Bool {
        primaryCode == SQLITE_FULL
            || ([SQLITE_IOERR, SQLITE_CANTOPEN].contains(primaryCode) && [ENOSPC, EDQUOT].contains(systemError))
    }

    /// Whether the content of the database is malformed.
    var isCorruption: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(primaryCode) }

    /// Whether a statement took more steps than its ``WorkLimit`` allows.
    var isEndless: Bool { primaryCode == SQLITE_INTERRUPT }

    var storageFailure: StorageFailure {
        StorageFailure(
            kind: isFull ? .full : isCorruption || isEndless ? .damaged : .inputOutput, message: description)
    }

    var description: String {
        isEndless ? "reading it takes more steps than a log of its size needs" : "\(message) (SQLite \(code))"
    }
}
