import Glibc
import NotifyLog
import NotifySystem
import SystemPackage

/// Repair of a log whose files were deleted or moved away while it was open.
extension CurrentLog {
    /// Repairs the log if a file is missing. Other damage is reported, and the files are left unchanged.
    func repair(with continuation: LogContinuation) -> LogRepair {
        if log == nil, let corruption { return .failed(corruption.message) }
        // If there is no log yet, each commit tries to create it.
        guard let log, let damage = log.findDamage() else { return .notNeeded }
        do {
            switch (damage.file, damage.kind) {
            case (.writeAheadLog, .missing): return try reopen(log)
            case (.database, .missing): return try replace(log, with: continuation)
            default: return .failed(damage.description)
            }
        } catch {
            return .failed(log.failure(error).message)
        }
    }

    /// Replaces a missing write-ahead log: moves the content of the missing file, which is still open, to the database,
    /// and opens the log again.
    private func reopen(_ old: Log) throws -> LogRepair {
        try old.undoRefusedBatch()
        try old.checkpoints.run(.truncate)
        endBackup()
        old.close()
        log = nil
        let opened = try Log.open(at: path, options)
        opened.log.adopt(old)
        use(opened)
        return .reopened(
            "the write-ahead log of the database '\(path)' was missing and was recreated; no data was lost")
    }

    /// Replaces a missing database by a new one with the same durable subscriptions and no messages.
    private func replace(_ old: Log, with continuation: LogContinuation) throws -> LogRepair {
        if !isLockInPlace { try takeLock() }
        try clearWAL(of: old)
        let losses = old.losses(of: continuation.subscriptions)
        var continuation = continuation
        for index in continuation.subscriptions.indices {
            guard let loss = losses[continuation.subscriptions[index].id] else { continue }
            if continuation.subscriptions[index].loss?.add(loss) == nil {
                continuation.subscriptions[index].loss = loss
            }
        }
        let new = DatabaseFile(path: path + ".new")
        try Log.create(new, options, continuation, epoch: old.state.epoch)
        try new.move(to: path)
        endBackup()
        old.close()
        log = nil
        let opened = try Log.open(at: path, options)
        opened.log.adopt(old)
        use(opened)
        return .replaced(
            "the database '\(path)' was missing and was recreated; stored messages lost: "
                + "\(old.statistics.logMessages); durable subscriptions that continue: \(continuation.subscriptions.count)",
            losses: losses)
    }

    /// Removes the write-ahead log of a missing database. Before that, moves its content to the database, which may
    /// still exist at another path.
    private func clearWAL(of log: Log) throws {
        let walPath = log.files.walPath
        guard DatabaseFile(path: walPath).exists else { return }
        guard log.files.isWALInPlace, !log.files.isTruncated else {
            throw StorageFailure(
                kind: .inputOutput,
                message: "'\(walPath)' belongs to a database that was moved away: move it as well, then reload notifyd")
        }
        try? log.undoRefusedBatch()
        try log.checkpoints.run(.truncate)
        try Errno.check(unlink(walPath))
    }
}

extension Log {
    /// What the subscriptions lose with all messages of this log. Reads the files that are still open, even if they were
    /// deleted.
    fileprivate func losses(of subscriptions: [DurableRecord]) -> [DurableID: Loss] {
        let backlogs = try? countBacklogs()
        var losses: [DurableID: Loss] = [:]
        for subscription in subscriptions {
            let read = max(subscription.progress.cursor, subscription.startedAfter)
            guard read < persistedThrough else { continue }
            // Messages that are still in memory are delivered, so this is an upper bound.
            let count = backlogs.map { $0[subscription.id]?.messages ?? 0 } ?? persistedThrough - read
            guard count > 0 else { continue }
            losses[subscription.id] = Loss(first: read + 1, last: persistedThrough, count: count, isUpperBound: true)
        }
        return losses
    }

    private func countBacklogs() throws -> [DurableID: Backlog] {
        while true {
            if let backlogs = try continueBacklogs() { return backlogs }
        }
    }

    /// Creates the database of a log that continues another one. On failure, all files of the new database are removed.
    fileprivate static func create(
        _ file: DatabaseFile, _ options: StoreOptions, _ continuation: LogContinuation, epoch: UInt64
    ) throws {
        try file.create()
        do {
            let log = try Log(connection: Schema.open(file.path).connection, path: file.path, options: options)
            try log.readState()
            try log.inTransaction(.full) { statements in
                for record in continuation.subscriptions { try log.apply(.create(record), statements) }
                try log.changeState(statements) { state in
                    state.isClean = false
                    state.epoch = epoch
                    state.reservedThrough = continuation.reservedBelow
                    state.nextSequence = continuation.reservedBelow
                    state.nextSubscription = UInt64(continuation.nextSubscriptionID.rawValue)
                }
            }
            try log.checkpoints.run(.truncate)
            log.close()
        } catch {
            file.remove()
            throw error
        }
    }

    /// Takes over the statistics and the highest committed sequence of the log that this one replaces.
    fileprivate func adopt(_ old: Log) {
        persistedThrough = max(persistedThrough, old.persistedThrough)
        readWork = old.readWork
        statistics.commits = old.statistics.commits
        statistics.syncs = old.statistics.syncs
        statistics.pagesRead = old.statistics.pagesRead
    }
}
