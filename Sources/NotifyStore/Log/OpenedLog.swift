import NotifyLog

/// A log with what was in it when it was opened.
struct OpenedLog {
    let log: Log
    let recovered: RecoveredLog
    /// Nil where there is no shared memory.
    let mark: SequenceMark?
}

extension Log {
    /// Opens the log at `path`, or creates it. It is not marked as in use yet. The caller holds the lock.
    ///
    /// - Throws: What stands against it, with what to do. A file that is not a log of ours is left as it is.
    static func open(at path: String, _ options: StoreOptions) throws(StoreError) -> OpenedLog {
        let file = DatabaseFile(path: path)
        try file.prepare()
        do {
            let database = try Schema.open(path)
            try file.restrictToOwner()
            let log = try Log(connection: database, path: path, options: options)
            // Without shared memory the log works, too.
            let mark = try? SequenceMark(logID: log.readID(), databasePath: path)
            let recovered = try log.recover(usedBelow: mark?.value ?? 0)
            return OpenedLog(log: log, recovered: recovered, mark: mark)
        } catch {
            throw StoreError(opening: path, error)
        }
    }
}
