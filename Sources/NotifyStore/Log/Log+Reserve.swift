import NotifyLog
import NotifySystem

/// The work that is possible on a full disk: all that stores no message. Deletions, acknowledgements and attachments
/// use the ``DiskReserve``.
extension Log {
    /// The size of the write-ahead log at which it is checkpointed while there is less than the whole reserve.
    static let shortCheckpointBytes = 1 << 20

    /// Makes the reserve, if there is none and the disk has room for it.
    func keepReserve() {
        guard !reserve.isHeld, let free = options.disk.space(path)?.freeBytes else { return }
        reserve.make(freeBytes: free - min(free, options.retention.minimumFreeBytes))
    }

    /// Makes room on a full disk for something that stores no message.
    ///
    /// - Parameters:
    ///   - error: Why it failed.
    ///   - use: The kind of work.
    /// - Returns: Whether it may succeed now.
    private func releaseReserve(after error: any Error, for use: DiskReserve.Use) -> Bool {
        guard isDiskFull(error), reserve.release(for: use) else { return false }
        _ = restartWriteAheadLog()
        return true
    }

    /// Runs `body` for a use, and again with the reserve if the disk is full. If the reserve was released before, the
    /// file of the write-ahead log may still have room.
    func withReserve<Result>(for use: DiskReserve.Use, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            guard mayRetry(after: error, for: use) || (isDiskFull(error) && restartWriteAheadLog()) else {
                throw error
            }
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
        error is UnwritableDeletions || releaseReserve(after: error, for: use)
    }

    /// The failure of a request on a full disk.
    var diskFull: StorageFailure { StorageFailure(diskFullAt: path, canDelete: reserve.isForDeletions) }

    private func isDiskFull(_ error: any Error) -> Bool {
        damage == nil && (error as? SQLiteFailure)?.isFull ?? false
    }

    /// Moves the pages of the write-ahead log into the database, so that it begins again within its file. Without room
    /// for all of them nothing is moved: it would use up the rest of the disk.
    ///
    /// - Returns: Whether the database had room for them.
    private func restartWriteAheadLog() -> Bool {
        do {
            guard try hasRoomForCheckpoint() else { return false }
            try checkpoints.run(.passive)
            return true
        } catch {
            return false
        }
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
