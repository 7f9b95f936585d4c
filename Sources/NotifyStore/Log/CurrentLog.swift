import NotifyLog
import NotifySystem
import NotifyWire
import Synchronization

/// The log in use. It is opened at the start, or created later if the disk was full at the start. A deleted log is
/// replaced.
///
/// `@unchecked Sendable`: after the creation, `Store` uses this object only in closures on its serial queue, which run
/// one after another. The `SequenceMark`, which any thread may use, has its own lock.
final class CurrentLog: @unchecked Sendable {
    /// The damage of the content that keeps the log from being opened.
    var corruption: StorageFailure?
    /// The number of sequences that may be used before any is reserved on disk.
    private static let usableSequences: UInt64 = 1 << 32

    let path: String
    private(set) var options: StoreOptions
    /// The open log. Nil until the log can be created, and after it is closed.
    var log: Log? {
        didSet { log?.subscriptions.policy = policy }
    }
    private var policy: AccessPolicy?
    /// Receives the reports about deletions, the sizes of the files and the health of retention.
    var deletionHandler: (@Sendable (Deletion) -> Void)?
    /// The work that is done in slices between the requests.
    let slices: SliceRunner
    /// Whether the work of retention is under way.
    var isMaintaining = false
    /// The backup that is being made or read.
    var backup: LogBackup?
    /// Held until the database is closed.
    private var lock: FileLock?
    /// Nil if shared memory is unavailable.
    let mark = Mutex<SequenceMark?>(nil)
    private(set) var isClosed = false

    private init(path: String, options: StoreOptions, queue: SerialQueue) {
        self.path = path
        self.options = options
        slices = SliceRunner(queue: queue)
    }

    deinit {
        close()
    }

    // MARK: Opening

    /// Opens the log at `path`, or creates it.
    ///
    /// A full disk, or a log whose content is damaged, does not prevent the start: volatile messages need no disk
    /// space. They need only sequences that are never used twice. While no sequences can be reserved on disk, only the
    /// `SequenceMark` in shared memory keeps the next start from using the same sequences again.
    ///
    /// The loss of the mark when the kernel stops is safe: no process that has seen these sequences is left, and none
    /// of the sequences is on disk. No message is stored, and no durable subscription attached, before the first commit
    /// that reserves sequences. Without shared memory, no sequence may be used before that commit.
    static func open(
        path: String, options: StoreOptions, queue: SerialQueue
    ) throws(StoreError) -> (CurrentLog, RecoveredLog) {
        let current = CurrentLog(path: path, options: options, queue: queue)
        var recovered: RecoveredLog
        do throws(StoreError) {
            recovered = try current.open()
        } catch {
            switch error.code {
            case .noRoomForNew: recovered = current.recoverWithoutLog()
            case .damaged: recovered = current.recoverFromDamage(error)
            default: throw error
            }
        }
        if current.mark.withLock({ $0 != nil }) {
            recovered.usableBelow = min(recovered.nextSequence + usableSequences, Limits.sequenceEnd)
        }
        return (current, recovered)
    }

    /// - Parameter mustBeNew: Whether to refuse a log that was used before.
    private func open(mustBeNew: Bool = false) throws(StoreError) -> RecoveredLog {
        do throws(StoreError) {
            if lock == nil { try takeLock() }
            Self.removeLeftovers(beside: path)
        } catch {
            let isMissing = !DatabaseFile(path: path).exists
            throw error.code == .full && isMissing ? StoreError(noRoomFor: path) : error
        }
        let opened = try Log.open(at: path, options)
        var recovered = opened.recovered
        // The mark of the sequences used while the log could not be created or opened.
        let earlier = try? SequenceMark(ofMissing: path)
        guard recovered.isNew || !mustBeNew else {
            throw StoreError(
                .inUse, "another log has appeared at '\(path)': restart notifyd to use it, or move it away")
        }
        recovered.nextSequence = max(recovered.nextSequence, earlier?.value ?? 0)
        use(opened, from: recovered.nextSequence)
        earlier?.remove()
        do {
            try opened.log.markInUse()
        } catch {
            throw StoreError(opening: path, error)
        }
        opened.log.disk.keepReserve()
        recovered.hasReserve = opened.log.disk.reserve.isForDeletions
        return recovered
    }

    /// Recovers the state that the daemon needs while there is no log: a sequence above all those that were used
    /// without a log since boot.
    func recoverWithoutLog() -> RecoveredLog {
        let earlier = try? SequenceMark(ofMissing: path)
        let next = max(1, earlier?.value ?? 0)
        earlier?.set(next)
        mark.withLock { $0 = earlier }
        return RecoveredLog(
            nextSequence: next, persistedThrough: 0, subscriptions: [], wasClosedCleanly: true,
            nextSubscriptionID: DurableID(1))
    }

    func takeLock() throws(StoreError) {
        do throws(FileLock.Failure) {
            lock = try FileLock(guarding: path)
        } catch {
            throw StoreError(locking: path, error)
        }
    }

    /// Whether the lock file is still at its path, so that no other process can take the lock.
    var isLockInPlace: Bool { lock?.isInPlace(guarding: path) ?? false }

    /// Makes another log the current one, and continues the sequences.
    func use(_ opened: OpenedLog, from next: UInt64 = 0) {
        log = opened.log
        mark.withLock { mark in
            opened.mark?.set(max(next, mark?.value ?? 0))
            if mark?.name != opened.mark?.name { mark?.remove() }
            mark = opened.mark
        }
    }

    // MARK: Requests

    func commit(_ batch: CommitBatch) -> CommitOutcome {
        do throws(StorageFailure) {
            let outcome = try openLog().commit(batch)
            reportDeletion()
            return outcome
        } catch {
            return CommitOutcome(batchID: batch.id, result: .failure(error), statistics: StoreStatistics())
        }
    }

    func readPage(_ request: PageRequest) -> Page {
        do throws(StorageFailure) {
            return try openLog().readPage(request)
        } catch {
            return Page(for: request.purpose, result: .failure(error), statistics: StoreStatistics())
        }
    }

    func readRedeliveries(_ request: RedeliveryRequest) -> RedeliveryPage {
        do throws(StorageFailure) {
            return try openLog().readRedeliveries(request)
        } catch {
            return RedeliveryPage(
                subscription: request.subscription, result: .failure(error), statistics: StoreStatistics())
        }
    }

    func setRetention(_ policy: RetentionPolicy) {
        options.retention = policy
        log?.options.retention = policy
        log?.retention.restart()
    }

    func setPolicy(_ policy: AccessPolicy) {
        self.policy = policy
        log?.subscriptions.policy = policy
    }

    /// Records that peers may see sequences below `next` from now on. Can be called on any thread.
    func sequencesUsed(below next: UInt64) {
        mark.withLock { $0?.set(next) }
    }

    /// Returns the log. If there is none yet, creates it; the new log continues after the sequences that were used
    /// without a log.
    func openLog() throws(StorageFailure) -> Log {
        if let log { return log }
        guard !isClosed else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        if let corruption { throw corruption }
        do throws(StoreError) {
            _ = try open(mustBeNew: true)
        } catch {
            throw error.storageFailure
        }
        guard let log else { preconditionFailure("an opened log was not put in use") }
        return log
    }

    /// Converts the error of a request to a failure. If the content is damaged, the log notes that, so that later
    /// commits fail.
    func failure(_ error: any Error) -> StorageFailure {
        log?.failure(error) ?? error as? StorageFailure
            ?? StorageFailure(kind: .inputOutput, message: String(describing: error))
    }

    // MARK: The end

    /// Records the exact next sequence for the next start. If there is no log, the mark already contains it.
    func finish(nextSequence: UInt64) throws {
        guard !isClosed else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        guard let log else { return }
        try log.finish(nextSequence: nextSequence)
        mark.withLock { $0?.remove() }
    }

    func close() {
        isClosed = true
        deletionHandler = nil
        closeLog()
        lock = nil
    }

    /// Closes the log. Ends the backup; other sliced work finds in its next slice that the log is closed or replaced.
    func closeLog() {
        endBackup()
        slices.releaseLog()
        log?.close()
        log = nil
    }
}

extension RecoveredLog {
    /// Whether the log is unused: just created, or created by an earlier run that used none of its sequences.
    fileprivate var isNew: Bool { nextSequence == 1 && persistedThrough == 0 && nextSubscriptionID == DurableID(1) }
}
