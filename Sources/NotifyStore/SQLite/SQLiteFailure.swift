import CSQLite
import Glibc
import NotifyLog
import NotifyWire

/// What SQLite said when a call of its C interface failed.
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

    /// A flush failed: the kernel may have dropped what it could not write and says so only once.
    var isFailedFlush: Bool { code == SQLITE_IOERR | (4 << 8) || code == SQLITE_IOERR | (5 << 8) }

    /// SQLite reports only a write's ENOSPC as "full": not an exhausted quota, nor a file that can't be created.
    var isFull: Bool {
        primaryCode == SQLITE_FULL
            || ([SQLITE_IOERR, SQLITE_CANTOPEN].contains(primaryCode) && [ENOSPC, EDQUOT].contains(systemError))
    }

    var storageFailure: StorageFailure {
        StorageFailure(kind: isFull ? .full : .inputOutput, message: description)
    }

    var description: String { "\(message) (SQLite \(code))" }
}
