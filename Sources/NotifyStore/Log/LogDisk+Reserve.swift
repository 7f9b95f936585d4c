import NotifyLog
import NotifySystem

/// Work on a full disk. Deletions, acknowledgements and attachments store no message, and may use the ``DiskReserve``.
extension LogDisk {
    /// The size of the write-ahead log at which it is checkpointed while the reserve is released or small.
    static let shortCheckpointBytes = 1 << 20

    /// Allocates the reserve, if it is not complete and the disk has room for it.
    func keepReserve() {
        guard !reserve.isHeld, let free = freeBytes else { return }
        reserve.make(freeBytes: free - min(free, retention.minimumFreeBytes))
    }

    /// Releases a part of the reserve, for work that stores no message and has failed on a full disk.
    ///
    /// - Parameters:
    ///   - error: The error of the work.
    ///   - use: The kind of work.
    /// - Returns: Whether the work may succeed now.
    mutating func releaseReserve(after error: any Error, for use: DiskReserve.Use) -> Bool {
        guard isFull(error), reserve.release(for: use) else { return false }
        _ = restartWriteAheadLog()
        return true
    }

    /// Makes room on a full disk without the reserve, by reusing the space of the write-ahead log's file.
    ///
    /// - Parameter error: The error of the work that has failed.
    /// - Returns: Whether the work may succeed now.
    mutating func restartWriteAheadLog(after error: any Error) -> Bool { isFull(error) && restartWriteAheadLog() }

    /// The failure of a request on a full disk.
    var diskFull: StorageFailure { StorageFailure(diskFullAt: path, canDelete: reserve.isForDeletions) }

    private func isFull(_ error: any Error) -> Bool {
        damage == nil && (error as? SQLiteFailure)?.isFull ?? false
    }

    /// Moves the pages of the write-ahead log into the database, so that SQLite writes the next pages from the
    /// beginning of the same file. Moves nothing if the database has no room for all of the pages, because a part would
    /// use up the rest of the disk.
    ///
    /// - Returns: Whether the pages were moved.
    private mutating func restartWriteAheadLog() -> Bool {
        do {
            if let free = freeBytes, try missingPageBytes() > free { return false }
            try checkpoints.run(.passive)
            return true
        } catch {
            return false
        }
    }
}

extension Log {
    /// Runs `body`. If the disk is full, releases the part of the reserve for `use`, and runs `body` again. If that
    /// part was released before, reuses the space of the write-ahead log's file instead.
    func withReserve<Result>(for use: DiskReserve.Use, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            guard mayRetry(after: error, for: use) || disk.restartWriteAheadLog(after: error) else { throw error }
            return try body()
        }
    }

    /// Makes room for work that stores no message and has failed for lack of space.
    ///
    /// - Parameters:
    ///   - error: The error of the work.
    ///   - use: The kind of work.
    /// - Returns: Whether the work may succeed now.
    func mayRetry(after error: any Error, for use: DiskReserve.Use) -> Bool {
        error is UnwritableDeletions || disk.releaseReserve(after: error, for: use)
    }
}

extension CommitBatch {
    /// Whether the batch deletes messages or subscriptions, and so makes room. Called for batches that store no
    /// message.
    var isDeletion: Bool {
        changes.contains { change in
            switch change {
            case .remove, .delete: true
            case .create, .countDeleted, .update, .replace, .setOwner, .addLoss, .forgetLoss, .keep, .forget: false
            }
        }
    }
}

extension StorageFailure {
    /// - Parameter canDelete: Whether messages can still be deleted, because the reserve has a part for deletions.
    fileprivate init(diskFullAt path: String, canDelete: Bool) {
        self.init(
            kind: .full,
            message: "the file system of '\(AccessProblem.directory(of: path))' is full: make room on it"
                + (canDelete ? ", or delete stored messages with \"notifyctl purge PATTERN\"" : ""))
    }
}
