package import NotifyLog

/// The log: messages, and the durable subscriptions that read them, in one SQLite database that is this process's alone.
///
/// Commits and page reads run one after another on a serial queue, in the order in which they were requested; completions
/// are called there, in that order, and should do no more than hand the outcome on.
package final class Store: LogStore {
    /// What was there when the log was opened.
    package let recovered: RecoveredLog

    private let current: CurrentLog
    private let queue = SerialQueue()

    private init(recovered: RecoveredLog, current: CurrentLog) {
        self.recovered = recovered
        self.current = current
    }

    deinit {
        // Without `close` the next start finds an unclean stop. The last reference may end in a completion, on the queue.
        releaseFiles()
    }

    /// Opens the log at `path`, or creates it, with its folder's lock file `path.lock` held from then on. Blocks.
    ///
    /// On a full disk the log opens all the same, and commits fail as `full` until there is room: a log that is there is
    /// read, and one that is not is created by the first commit that finds room.
    ///
    /// - Throws: What stands against it, with what to do. A file that is not a log of ours is left as it is. A log of an
    ///   earlier version, which must be rewritten first, needs room on the disk.
    package static func open(path: String, options: StoreOptions = StoreOptions()) throws(StoreError) -> Store {
        // SQLite takes what begins with "file:" for a URI.
        let path = path.hasPrefix("/") ? path : "./" + path
        let (current, recovered) = try CurrentLog.open(path: path, options: options)
        return Store(recovered: recovered, current: current)
    }

    /// Commits the batch in one transaction and then tells the outcome. Of a batch that fails nothing is kept, and the
    /// next one is tried afresh.
    ///
    /// Every commit survives the death of the process. One that asks to be synced, or reserves sequences, is flushed
    /// to the disk before its outcome is told, and with it all that was committed before.
    package func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void) {
        let current = current
        queue.add {
            completion(current.commit(batch))
            current.log?.checkpointIfDue()
        }
    }

    /// Reads the page and then gives it.
    package func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void) {
        let current = current
        queue.add {
            completion(current.readPage(request))
        }
    }

    package func sequencesUsed(below next: UInt64) {
        current.sequencesUsed(below: next)
    }

    /// Repairs the log after everything that was asked for before.
    package func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void) {
        let current = current
        queue.add {
            completion(current.repair(with: continuation))
        }
    }

    /// What reading pages has cost so far. Waits for what was asked for before.
    package func readWork() -> ReadWork {
        let current = current
        return queue.wait { current.log?.readWork ?? ReadWork() }
    }

    /// Closes the log after everything that was asked for before. Blocks; must not be called from a completion.
    ///
    /// - Parameter nextSequence: The lowest sequence never used, with which the next start goes on.
    /// - Throws: Why the exact sequence could not be kept. The log is closed then, too, and the next start recovers as after a
    ///   killed process.
    package func close(nextSequence: UInt64) throws(StoreError) {
        let current = current
        do {
            defer { releaseFiles() }
            try queue.wait { try current.finish(nextSequence: nextSequence) }
        } catch {
            throw StoreError(closing: current.path, error)
        }
    }

    private func releaseFiles() {
        queue.waitOrRun { current.close() }
    }
}
