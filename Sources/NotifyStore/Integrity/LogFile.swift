import Glibc
import NotifyLog
import NotifySystem

/// A log's database that no daemon uses, opened for a check or a repair.
struct LogFile {
    let path: String
    let connection: DatabaseConnection
    /// The version of the schema; 0 if it can't be read.
    let version: Int

    /// - Throws: A `StoreError` if the file is not a log that this version of notifyd can read, or is in use.
    static func open(_ path: String) throws(StoreError) -> LogFile {
        try checkUse(path)
        try DatabaseFile(path: path).checkReadable()
        do {
            let connection = try DatabaseConnection(reading: path)
            return LogFile(path: path, connection: connection, version: try version(of: connection, path))
        } catch {
            throw StoreError(opening: path, error)
        }
    }

    private static func version(of connection: DatabaseConnection, _ path: String) throws -> Int {
        do {
            guard try connection.integer("PRAGMA application_id") == Schema.applicationID else {
                throw Schema.foreign(path)
            }
            let version = try connection.integer("PRAGMA user_version")
            guard version <= Schema.version else { throw Schema.newer(path, version: version) }
            return Int(max(0, version))
        } catch let failure as SQLiteFailure where failure.isUnreadable {
            return 0
        }
    }

    /// Refuses a database that a daemon uses.
    static func checkUse(_ path: String) throws(StoreError) {
        do throws(FileLock.Failure) {
            try FileLock.check(guarding: path)
        } catch {
            guard case .held(let holder) = error else { return }
            let process = holder.map { " (process \($0))" } ?? ""
            throw StoreError(
                .inUse,
                "notifyd\(process) uses the database '\(path)': check it with \"notifyctl check --full\", or stop notifyd"
            )
        }
    }
}
