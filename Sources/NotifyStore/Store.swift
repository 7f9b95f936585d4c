package import NotifyLog
import NotifySystem
import Synchronization

/// The log: messages, and the durable subscriptions that read them, in one SQLite database that is this process's alone.
///
/// Commits and page reads run one after another on a serial queue, in the order in which they were requested; completions
/// are called there, in that order, and should do no more than hand the outcome on.
package final class Store: LogStore {
    /// What was there when the log was opened.
    package let recovered: RecoveredLog

    private let log: Log
    private let queue = SerialQueue()
    /// Nil where there is no shared memory.
    private let mark: SequenceMark?
    /// Held until the database is closed.
    private let lock: Mutex<FileLock?>

    private init(recovered: RecoveredLog, log: Log, mark: SequenceMark?, lock: consuming FileLock) {
        self.recovered = recovered
        self.log = log
        self.mark = mark
        self.lock = Mutex(lock)
    }

    deinit {
        // Without `close` the next start finds an unclean stop. The last reference may end in a completion, on the queue.
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
            let log = try Log(connection: database, path: path, options: options)
            // Without shared memory the log works, too.
            let mark = try? SequenceMark(logID: log.readID(), databasePath: path)
            let recovered = try log.recover(usedBelow: mark?.value ?? 0)
            mark?.set(recovered.nextSequence)
            return Store(recovered: recovered, log: log, mark: mark, lock: lock)
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
        queue.add {
            completion(log.commit(batch))
            log.checkpointIfDue()
        }
    }

    /// Reads the page and then gives it.
    package func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void) {
        let log = log
        queue.add {
            completion(log.readPage(request))
        }
    }

    package func sequencesUsed(below next: UInt64) {
        mark?.set(next)
    }

    /// What reading pages has cost so far. Waits for what was asked for before.
    package func readWork() -> ReadWork {
        let log = log
        return queue.wait { log.readWork }
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
            try queue.wait { try log.finish(nextSequence: nextSequence) }
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
        queue.waitOrRun { log.close() }
        lock.withLock { $0 = nil }
    }
}
