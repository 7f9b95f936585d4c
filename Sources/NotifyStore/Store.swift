import Dispatch
package import NotifyLog
import NotifySystem

/// The log: stored messages and durable subscriptions, in one SQLite database that this process uses exclusively.
///
/// Commits and page reads run one after another on a serial queue, in the order of the requests. Completions are called
/// on that queue, in the same order, and should only pass the outcome on.
package final class Store: LogStore {
    /// The state of the log when it was opened.
    package let recovered: RecoveredLog

    let current: CurrentLog
    let queue: SerialQueue

    /// `nonisolated(unsafe)`: any thread may cancel a dispatch source.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer

    private init(recovered: RecoveredLog, current: CurrentLog, queue: SerialQueue, interval: Duration) {
        self.recovered = recovered
        self.current = current
        self.queue = queue
        timer = queue.run(every: interval) { current.maintainIfDue() }
    }

    deinit {
        timer.cancel()
        // If `close` was not called, the next start detects an unclean stop. This may run on the queue, because a
        // completion may release the last reference.
        releaseFiles()
    }

    /// Opens the log at `path`, or creates it. Holds the lock file `path.lock` until the log is closed. Blocks.
    ///
    /// Opening also succeeds on a full disk: commits then fail as `full` until there is room. A missing log is created
    /// by the first commit that finds room.
    ///
    /// - Throws: A `StoreError` that says how to fix the problem. The code is `full` if, for example, a log of an
    ///   earlier version must be migrated on a full disk. A file that is not a log of notifyd is left unchanged.
    package static func open(path: String, options: StoreOptions = StoreOptions()) throws(StoreError) -> Store {
        // SQLite would interpret a path that begins with "file:" as a URI.
        let path = path.hasPrefix("/") ? path : "./" + path
        let queue = SerialQueue()
        let (current, recovered) = try CurrentLog.open(path: path, options: options, queue: queue)
        return Store(recovered: recovered, current: current, queue: queue, interval: options.retentionInterval)
    }

    /// Checks whether ``open(path:options:)`` could use the files at `path`. Changes nothing, and does not read the log
    /// itself. Reads the schema version from the database file only: a newer version that is still in the write-ahead
    /// log is detected only by `open`.
    ///
    /// - Throws: The `StoreError` that `open` would throw for these files, such as `inUse` if another daemon has the
    ///   log open.
    package static func check(path: String) throws(StoreError) {
        do throws(FileLock.Failure) {
            try FileLock.check(guarding: path)
        } catch {
            throw StoreError(locking: path, error)
        }
        try DatabaseFile(path: path).checkExisting()
    }

    /// Whether the file at a path is a log. An interrupted first start leaves a file that is not yet a log.
    package static func hasLog(path: String) -> Bool { DatabaseFile(path: path).isLog }

    /// Commits the batch in one transaction, and then reports the outcome. A failed batch stores no messages, and
    /// neither creates nor removes subscriptions. A failure does not affect later batches.
    ///
    /// Every commit survives the end of the process. A batch that asks to be synced or reserves sequences is flushed to
    /// disk before its outcome is reported, together with all commits before it.
    package func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let current = current
        queue.add {
            completion(current.commit(batch))
            current.log?.disk.checkpointIfDue()
            if current.log?.retention.pace.isRequested ?? false { current.beginMaintaining() }
            current.applyValuesIfDue(isTimed: false)
        }
    }

    /// Reads the page, and passes it to the completion.
    package func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void) {
        let current = current
        queue.add {
            completion(current.readPage(request))
        }
    }

    package func readRedeliveries(
        _ request: RedeliveryRequest, completion: @escaping @Sendable (RedeliveryPage) -> Void
    ) {
        let current = current
        queue.add {
            completion(current.readRedeliveries(request))
        }
    }

    /// Applies another retention policy, also to a log that is opened or created later.
    package func setRetention(_ policy: RetentionPolicy) {
        let current = current
        queue.add { current.setRetention(policy) }
    }

    /// Applies another access policy, also to a log that is opened or created later.
    package func setPolicy(_ policy: AccessPolicy) {
        let current = current
        queue.add { current.setPolicy(policy) }
    }

    /// Sets the handler of reports about deletions, the sizes of the files and the health of retention. The handler is
    /// called on the store's queue.
    package func setDeletionHandler(_ handler: @escaping @Sendable (Deletion) -> Void) {
        let current = current
        queue.add { current.deletionHandler = handler }
    }

    /// Deletes the messages that the retention policy no longer keeps, in slices, until nothing is left to do. Other
    /// requests run between the slices. The store also does this at intervals, and after a commit if enough segments
    /// were closed since the last pass.
    package func maintain() {
        let current = current
        queue.add { current.beginMaintaining(isRequired: true) }
    }

    /// Begins the work of retention if it is due, as the timer does at intervals.
    package func maintainIfDue() {
        let current = current
        queue.add { current.maintainIfDue() }
    }

    /// Whether the work of retention is under way. Waits for all earlier requests.
    package func isMaintaining() -> Bool {
        let current = current
        return queue.wait { current.isMaintaining }
    }

    package func sequencesUsed(below next: UInt64) {
        current.sequencesUsed(below: next)
    }

    /// Repairs the log after all earlier requests.
    package func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void) {
        let current = current
        queue.add {
            completion(current.repair(with: continuation))
        }
    }

    /// The counters of the work of reading pages so far. Waits for all earlier requests.
    package func readWork() -> ReadWork {
        let current = current
        return queue.wait { current.log?.pageCaches.work ?? ReadWork() }
    }

    /// Closes the log after all earlier requests. Blocks; must not be called from a completion.
    ///
    /// - Parameter nextSequence: The lowest sequence never used, from which the next start continues.
    /// - Throws: A `StoreError` if `nextSequence` could not be recorded. The log is closed nevertheless, and the next
    ///   start recovers as after a crash.
    package func close(nextSequence: UInt64) throws(StoreError) {
        let current = current
        do {
            defer { releaseFiles() }
            timer.cancel()
            try queue.wait { try current.finish(nextSequence: nextSequence) }
        } catch {
            throw StoreError(closing: current.path, error)
        }
    }

    private func releaseFiles() {
        queue.waitOrRun { current.close() }
    }
}
