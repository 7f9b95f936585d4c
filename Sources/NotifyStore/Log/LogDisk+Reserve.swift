import NotifyLog
import NotifySystem

/// The work that is possible on a full disk: all that stores no message. Deletions, acknowledgements and attachments
/// use the ``DiskReserve``.
extension LogDisk {
    /// The size of the write-ahead log at which it is checkpointed while there is less than the whole reserve.
    static let shortCheckpointBytes = 1 << 20

    /// Makes the reserve, if there is none and the disk has room for it.
    func keepReserve() {
        guard !reserve.isHeld, let free = freeBytes else { return }
        reserve.make(freeBytes: free - min(free, retention.minimumFreeBytes))
    }

    /// Makes room on a full disk for something that stores no message.
    ///
    /// - Parameters:
    ///   - error: Why it failed.
    ///   - use: The kind of work.
    /// - Returns: Whether it may succeed now.
    mutating func releaseReserve(after error: any Error, for use: DiskReserve.Use) -> Bool {
        guard isFull(error), reserve.release(for: use) else { return false }
        _ = restartWriteAheadLog()
        return true
    }

    /// Makes room on a full disk without the reserve: the file of the write-ahead log may still have some.
    ///
    /// - Parameter error: Why something failed.
    /// - Returns: Whether it may succeed now.
    mutating func restartWriteAheadLog(after error: any Error) -> Bool { isFull(error) && restartWriteAheadLog() }

    /// The failure of a request on a full disk.
    var diskFull: StorageFailure { StorageFailure(diskFullAt: path, canDelete: reserve.isForDeletions) }

    private func isFull(_ error: any Error) -> Bool {
        damage == nil && (error as? SQLiteFailure)?.isFull ?? false
    }

    /// Moves the pages of the write-ahead log into the database, so that it begins again within its file. Without room
    /// for all of them nothing is moved: it would use up the rest of the disk.
    ///
    /// - Returns: Whether the database had room for them.
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
    /// Runs `body` for a use, and again with the reserve if the disk is full. If the reserve was released before, the
    /// file of the write-ahead log may still have room.
    func withReserve<Result>(for use: DiskReserve.Use, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            guard mayRetry(after: error, for: use) || disk.restartWriteAheadLog(after: error) else { throw error }
            return try body()
        }
    }

    /// Makes room for work that has failed for lack of space and that stores no message.
    ///
    /// - Parameters:
    ///   - error: Why it failed.
    ///   - use: The kind of work.
    /// - Returns: Whether it may succeed now.
    func mayRetry(after error: any Error, for use: DiskReserve.Use) -> Bool {
        error is UnwritableDeletions || disk.releaseReserve(after: error, for: use)
    }
}

extension CommitBatch {
    /// Whether the batch, which stores no message, makes room.
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
    /// - Parameter canDelete: Whether messages can be deleted nevertheless.
    fileprivate init(diskFullAt path: String, canDelete: Bool) {
        self.init(
            kind: .full,
            message: "the file system of '\(AccessProblem.directory(of: path))' is full: make room on it"
                + (canDelete ? ", or delete stored messages with \"notifyctl purge PATTERN\"" : ""))
    }
}
