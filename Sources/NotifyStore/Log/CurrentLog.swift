import NotifyLog
import NotifySystem
import NotifyWire
import Synchronization

/// The log that is in use: opened at the start, created later if the disk was full then, or one that took the place of a lost
/// one.
///
/// `@unchecked Sendable`: `Store` makes it and then uses it within closures on its serial queue alone, so no two threads are
/// in it at once; the queue orders what one does before what the next one sees. The mark has a lock of its own.
final class CurrentLog: @unchecked Sendable {
    /// How many sequences may be used before the first is reserved on disk.
    private static let usableSequences: UInt64 = 1 << 32

    let path: String
    let options: StoreOptions
    /// Nil where none could be created yet, and once it is closed.
    var log: Log?
    /// Held until the database is closed.
    private var lock: FileLock?
    /// Nil where there is no shared memory.
    private let mark = Mutex<SequenceMark?>(nil)
    private var isClosed = false

    private init(path: String, options: StoreOptions) {
        self.path = path
        self.options = options
    }

    deinit {
        close()
    }

    // MARK: Opening

    /// Opens the log at `path`, or creates it.
    ///
    /// A full disk does not end the start, as volatile messages need none. What they need is sequences that are not used
    /// twice. On disk none can be reserved, so the mark in shared memory alone keeps the next start from using them again, which
    /// lasts until the kernel stops. That is enough: after that no process is left that has seen them, and nothing with such a
    /// sequence is on disk, because a message is stored, or a durable subscription attached, only in or after the commit that
    /// also reserves sequences. Without shared memory no sequence may be used before that commit.
    static func open(path: String, options: StoreOptions) throws(StoreError) -> (CurrentLog, RecoveredLog) {
        let current = CurrentLog(path: path, options: options)
        var recovered: RecoveredLog
        do throws(StoreError) {
            recovered = try current.open()
        } catch {
            guard error.code == .noRoomForNew else { throw error }
            recovered = current.recoverNothing()
        }
        if current.mark.withLock({ $0 != nil }) {
            recovered.usableThrough = min(recovered.nextSequence + usableSequences, Limits.sequenceEnd)
        }
        return (current, recovered)
    }

    /// - Parameter mustBeNew: Refuses a log that has something in it.
    private func open(mustBeNew: Bool = false) throws(StoreError) -> RecoveredLog {
        do throws(StoreError) {
            if lock == nil { try takeLock() }
        } catch {
            let isMissing = !DatabaseFile(path: path).exists
            throw error.code == .full && isMissing ? StoreError(noRoomFor: path, error) : error
        }
        let opened = try Log.open(at: path, options)
        var recovered = opened.recovered
        // What was used while the disk had no room for the log.
        let earlier = recovered.isNew ? try? SequenceMark(ofMissing: path) : nil
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
        return recovered
    }

    private func recoverNothing() -> RecoveredLog {
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

    /// Goes on with another log; the sequences go on as well.
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
            return try openLog().commit(batch)
        } catch {
            return CommitOutcome(batchID: batch.id, result: .failure(error), statistics: StoreStatistics())
        }
    }

    func readPage(_ request: PageRequest) -> Page {
        do throws(StorageFailure) {
            return try openLog().readPage(request)
        } catch {
            return Page(reader: request.reader, result: .failure(error), statistics: StoreStatistics())
        }
    }

    /// Sequences below `next` may be seen from now on. Called on any thread.
    func sequencesUsed(below next: UInt64) {
        mark.withLock { $0?.set(next) }
    }

    /// The log; where there is none yet, it is created with the sequences that were used meanwhile.
    private func openLog() throws(StorageFailure) -> Log {
        if let log { return log }
        guard !isClosed else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        do throws(StoreError) {
            _ = try open(mustBeNew: true)
        } catch {
            throw error.storageFailure
        }
        guard let log else { preconditionFailure("a log that was opened is in use") }
        return log
    }

    // MARK: The end

    /// Leaves the exact next sequence for the next start. Where there is no log, the mark keeps it.
    func finish(nextSequence: UInt64) throws {
        guard !isClosed else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        guard let log else { return }
        try log.finish(nextSequence: nextSequence)
        mark.withLock { $0?.remove() }
    }

    func close() {
        isClosed = true
        log?.close()
        log = nil
        lock = nil
    }
}

extension RecoveredLog {
    /// Whether the log was created just now, or by a start that has used nothing of it.
    fileprivate var isNew: Bool { nextSequence == 1 && persistedThrough == 0 && nextSubscriptionID == DurableID(1) }
}
