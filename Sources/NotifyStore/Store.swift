import GRDB
import NotifySystem
import Synchronization
package import NotifyLog
import NotifyWire

/// The log: messages, and the durable subscriptions that read them, in one SQLite database that is this process's alone.
///
/// Commits and page reads run one after another, in the order in which they were asked for, on the database's own serial
/// queue; completions are called there, in that order, and should do no more than hand the outcome on.
package final class Store: LogStore {
    /// What was there when the log was opened.
    package let recovered: RecoveredLog

    private let database: DatabaseQueue
    private let log: Log
    /// Nil where there is no shared memory.
    private let mark: SequenceMark?
    /// Held until the database is closed.
    private let lock: Mutex<FileLock?>

    private init(
        recovered: RecoveredLog, database: DatabaseQueue, log: Log, mark: SequenceMark?,
        lock: consuming FileLock
    ) {
        self.recovered = recovered
        self.database = database
        self.log = log
        self.mark = mark
        self.lock = Mutex(lock)
    }

    deinit {
        // Without `close` the next start finds an unclean stop. Order matters all the same: statements, database, lock.
        releaseFiles()
    }

    /// Opens the log at `path`, or creates it, with its folder's lock file `path.lock` held from then on. Blocks.
    ///
    /// - Throws: What stands against it, with what to do. A file that is not a log of ours is left as it is.
    package static func open(path: String, options: StoreOptions = StoreOptions()) throws(StoreError) -> Store {
        // SQLite takes what begins with "file:" for a URI.
        let path = path.hasPrefix("/") ? path : "./" + path
        let lock = try lock(path)
        let file = DatabaseFile(path: path)
        try file.prepare()
        do {
            let database = try Schema.open(path)
            try file.restrictToOwner()
            let log = try database.inDatabase { database in
                guard let connection = database.sqliteConnection else {
                    throw DatabaseError(resultCode: .SQLITE_MISUSE)
                }
                return try Log(connection: connection, path: path, options: options)
            }
            let logID = try database.inDatabase { _ in try log.readID() }
            // Without shared memory the log works, too.
            let mark = try? SequenceMark(logID: logID, databasePath: path)
            let usedBelow = mark?.value ?? 0
            let recovered = try database.inDatabase { _ in try log.recover(usedBelow: usedBelow) }
            mark?.set(recovered.nextSequence)
            return Store(recovered: recovered, database: database, log: log, mark: mark, lock: lock)
        } catch {
            throw StoreError(opening: path, error)
        }
    }

    /// Commits the batch in one transaction and then tells the outcome. Of a batch that fails nothing is kept, and the
    /// next one is tried afresh.
    ///
    /// Every commit survives the death of the process. One that asks to be synced, or reserves sequences, is flushed
    /// to the disk before its outcome is told, and with it all that was committed before.
    package func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let log = log
        database.asyncWriteWithoutTransaction { _ in
            completion(log.commit(batch))
            log.checkpointIfDue()
        }
    }

    /// Reads the page and then gives it.
    package func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void) {
        let log = log
        database.asyncWriteWithoutTransaction { _ in
            completion(log.readPage(request))
        }
    }

    package func sequencesUsed(below next: UInt64) {
        mark?.set(next)
    }

    /// What reading pages has cost so far. Waits for what was asked for before.
    package func readWork() -> ReadWork {
        let log = log
        return database.unsafeReentrantWrite { _ in log.readWork }
    }

    /// Closes the log after everything that was asked for before. Blocks; must not be called from a completion.
    ///
    /// - Parameter nextSequence: The lowest sequence never used, with which the next start goes on.
    /// - Throws: Why the exact sequence could not be kept. The log is closed then, too, and the next start recovers as after a
    ///   killed process.
    package func close(nextSequence: UInt64) throws(StoreError) {
        let log = log
        do {
            defer { releaseFiles() }
            try database.writeWithoutTransaction { _ in try log.finish(nextSequence: nextSequence) }
            mark?.remove()
        } catch {
            throw StoreError(closing: log.path, error)
        }
    }

    private static func lock(_ path: String) throws(StoreError) -> FileLock {
        do throws(FileLock.Failure) {
            return try FileLock(guarding: path)
        } catch {
            throw StoreError(locking: path, error)
        }
    }

    private func releaseFiles() {
        let log = log
        database.unsafeReentrantWrite { _ in log.statements = nil }
        // Fails where a statement is left, and the connection then goes with the last of them.
        try? database.close()
        lock.withLock { $0 = nil }
    }
}
