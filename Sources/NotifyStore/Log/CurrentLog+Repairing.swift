import Glibc
import NotifyLog
import NotifySystem
import SystemPackage

/// Logs whose files were deleted or moved away while they were open.
extension CurrentLog {
    /// Repairs the log, if its files are not in place and no other files are there.
    func repair(with continuation: LogContinuation) -> LogRepair {
        // Where there is no log yet, each commit tries to create it.
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

    /// The write-ahead log is missing. What is in it goes to the database, and a new one is made.
    private func reopen(_ old: Log) throws -> LogRepair {
        try old.takeBackRefusedBatch()
        try old.checkpoints.run(.truncate)
        old.close()
        log = nil
        let opened = try Log.open(at: path, options)
        opened.log.adopt(old)
        use(opened)
        return .reopened("the write-ahead log of the database '\(path)' was missing and was made anew; nothing is lost")
    }

    /// The database is missing: a new one takes its place.
    private func replace(_ old: Log, with continuation: LogContinuation) throws -> LogRepair {
        if !isLockInPlace { try takeLock() }
        try clearWAL(of: old)
        let new = DatabaseFile(path: path + ".new")
        try Log.create(new, options, continuation)
        try new.move(to: path)
        old.close()
        log = nil
        let opened = try Log.open(at: path, options)
        opened.log.adopt(old)
        use(opened)
        return .replaced(
            "the database '\(path)' was missing and was created anew: all \(old.statistics.logMessages) stored messages "
                + "are gone; \(continuation.subscriptions.count) durable subscriptions go on")
    }

    /// Removes the write-ahead log of a database that is missing, after everything in it went to the database, which may
    /// have been moved somewhere else.
    private func clearWAL(of log: Log) throws {
        let walPath = log.files.walPath
        guard DatabaseFile(path: walPath).exists else { return }
        guard log.files.isWALInPlace, !log.files.isCut else {
            throw StorageFailure(
                kind: .inputOutput,
                message: "'\(walPath)' belongs to a database that was moved away: move it as well, then reload notifyd")
        }
        try? log.takeBackRefusedBatch()
        try log.checkpoints.run(.truncate)
        try Errno.check(unlink(walPath))
    }
}

extension Log {
    /// Creates the database of a log that continues another one, whole or not at all.
    fileprivate static func create(
        _ file: DatabaseFile, _ options: StoreOptions, _ continuation: LogContinuation
    ) throws {
        try file.create()
        do {
            let log = try Log(connection: Schema.open(file.path), path: file.path, options: options)
            try log.inTransaction(.full) { statements in
                for record in continuation.subscriptions { try log.apply(.create(record), statements) }
                try log.connection.execute(
                    """
                    UPDATE state SET clean = 0, reserved_through = \(continuation.reservedThrough),
                        next_sequence = \(continuation.reservedThrough),
                        next_subscription = \(continuation.nextSubscriptionID)
                    """)
            }
            try log.checkpoints.run(.truncate)
            log.close()
        } catch {
            file.remove()
            throw error
        }
    }

    /// Goes on with what was counted and committed in an earlier log.
    fileprivate func adopt(_ old: Log) {
        persistedThrough = max(persistedThrough, old.persistedThrough)
        readWork = old.readWork
        statistics.commits = old.statistics.commits
        statistics.syncs = old.statistics.syncs
        statistics.pagesRead = old.statistics.pagesRead
    }
}
