import CSQLite
import NotifyLog
import NotifySystem

/// A log and the state recovered when it was opened.
struct OpenedLog {
    let log: Log
    let recovered: RecoveredLog
    /// Nil if shared memory is unavailable.
    let mark: SequenceMark?
}

extension Log {
    /// Opens the log at `path`, or creates it. Does not mark the log as in use. The caller must hold the `FileLock` of
    /// the path.
    ///
    /// - Parameter isForeign: Whether the file may come from another source, such as a backup.
    /// - Throws: A `StoreError` that says how to fix the problem. A file that is not a log of notifyd is left
    ///   unchanged.
    static func open(
        at path: String, _ options: StoreOptions, isForeign: Bool = false
    ) throws(StoreError) -> OpenedLog {
        let file = DatabaseFile(path: path)
        try file.prepare()
        let isLog = file.isLog
        do {
            let database = try Schema.open(path, isForeign: isForeign)
            try file.restrictToOwner()
            let log = try Log(connection: database.connection, path: path, options: options)
            try log.database.readState()
            // The log also works without shared memory.
            let mark = try? SequenceMark(logID: log.database.state.logID, databasePath: path)
            var recovered = try log.recover(usedBelow: mark?.value ?? 0)
            recovered.problem = database.rewriteProblem ?? recovered.problem
            return OpenedLog(log: log, recovered: recovered, mark: mark)
        } catch {
            let problem = StoreError(opening: path, error)
            // A statement can't be prepared if a table or a column is missing.
            if isLog, let failure = error as? SQLiteFailure, failure.primaryCode == SQLITE_ERROR {
                throw StoreError(.damaged, failure.description)
            }
            // A file with the header of a log is a damaged log.
            guard isLog, problem.code == .notADatabase else { throw problem }
            throw StoreError(.damaged, "it can't be read as a database")
        }
    }
}
