import Glibc
import NotifyLog
import NotifySystem
import NotifyWire
import SystemPackage

/// Repair of a log whose files were deleted or moved away while it was open.
extension CurrentLog {
    /// Repairs the log if a file is missing. Other damage of the files is reported, and the files are left unchanged.
    func repair(with continuation: LogContinuation) -> LogRepair {
        if log == nil, let corruption { return .failed(corruption.message) }
        // If there is no log yet, each commit tries to create it.
        guard let log, let damage = log.disk.findDamage() else { return .notNeeded }
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
        try old.disk.checkpoints.run(.truncate)
        closeLog()
        let opened = try Log.open(at: path, options)
        opened.log.adopt(old)
        opened.log.deletions = old.deletions
        use(opened)
        return .reopened(
            "the write-ahead log of the database '\(path)' was missing and was recreated; no data was lost")
    }

    /// Replaces a missing database by a new one with the same durable subscriptions, their copies of messages, and the
    /// messages that are in memory.
    private func replace(_ old: Log, with continuation: LogContinuation) throws -> LogRepair {
        if !isLockInPlace { try takeLock() }
        try clearWAL(of: old)
        let losses = old.losses(of: continuation)
        var continuation = continuation
        for index in continuation.subscriptions.indices {
            guard let loss = losses[continuation.subscriptions[index].id] else { continue }
            continuation.subscriptions[index].loss.add(loss)
        }
        let new = DatabaseFile(path: path + ".new")
        let copies = try Log.create(new, options, continuation, replacing: old)
        try new.move(to: path)
        closeLog()
        let opened = try Log.open(at: path, options)
        opened.log.adopt(old)
        use(opened)
        let kept = continuation.messageCount
        return .replaced(
            "the database '\(path)' was missing and was recreated; stored messages lost: "
                + "\(old.statistics.logMessages - min(kept, old.statistics.logMessages)); kept from memory: \(kept); "
                + "durable subscriptions that continue: \(continuation.subscriptions.count)"
                + (copies > 0 ? "; copies kept of messages that are delivered again: \(copies)" : ""),
            losses: losses)
    }

    /// Removes the write-ahead log of a missing database. Before that, moves its content to the database, which may
    /// still exist at another path.
    private func clearWAL(of log: Log) throws {
        let walPath = log.disk.files.walPath
        guard DatabaseFile(path: walPath).exists else { return }
        guard log.disk.files.isWALInPlace, !log.disk.files.isTruncated else {
            throw StorageFailure(
                kind: .inputOutput,
                message: "'\(walPath)' belongs to a database that was moved away: move it as well, then reload notifyd")
        }
        try? log.undoRefusedBatch()
        try log.disk.checkpoints.run(.truncate)
        try Errno.check(unlink(walPath))
    }
}

extension Log {
    /// The loss of each subscription: its unacknowledged messages that are in this log and not in memory. Reads the
    /// files that are still open, even if they were deleted.
    fileprivate func losses(of continuation: LogContinuation) -> [DurableID: Loss] {
        let backlogs = try? countBacklogs()
        let last = continuation.firstSequence.map { $0 - 1 } ?? persistedThrough
        var losses: [DurableID: Loss] = [:]
        for subscription in continuation.subscriptions {
            let read = max(subscription.progress.cursor, subscription.startedAfter)
            guard read < last else { continue }
            var count = last - read
            // Messages whose acknowledgement is not committed count as lost here, so this is an upper bound.
            if let backlogs {
                let messages = backlogs[subscription.id]?.messages ?? 0
                count = min(count, messages - min(messages, continuation.unread(of: subscription)))
            }
            guard count > 0 else { continue }
            losses[subscription.id] = Loss(first: read + 1, last: last, count: count, isUpperBound: true)
        }
        return losses
    }

    private func countBacklogs() throws -> [DurableID: Backlog] {
        var survey = beginBacklogs(under: nil)
        return try continueBacklogs(&survey) ?? [:]
    }

    /// Creates the database of a log that continues another one. On failure, all files of the new database are removed.
    ///
    /// - Returns: The number of copies of messages that were taken over.
    fileprivate static func create(
        _ file: DatabaseFile, _ options: StoreOptions, _ continuation: LogContinuation, replacing old: Log
    ) throws -> Int {
        try file.create()
        do {
            var options = options
            // No limits, because the messages were already in the lost log.
            (options.retention.maximumBytes, options.retention.minimumFreeBytes) = (nil, 0)
            let log = try Log(connection: Schema.open(file.path).connection, path: file.path, options: options)
            log.writer.makesRoom = false
            try log.database.readState()
            log.clock = LogClock(options.clock, continuing: old.clock.mark)
            log.deletions = old.deletions
            log.deletions.moveToNewDatabase()
            for block in continuation.messages {
                try log.commit(CommitBatch(id: 0, blocks: [block])).result.get()
                log.disk.checkpointIfDue()
            }
            try log.inTransaction(.full) { statements in
                for record in continuation.subscriptions { try log.apply(.create(record), statements) }
                log.noteLost(by: old, exceptFrom: continuation)
                try log.database.changeState(statements) { state in
                    state.isClean = false
                    state.epoch = old.database.state.epoch
                    state.forgottenThrough = old.database.state.forgottenThrough
                    state.clock = log.clock.mark
                    state.reservedThrough = continuation.reservedBelow
                    state.nextSequence = continuation.reservedBelow
                    state.nextSubscription = UInt64(continuation.nextSubscriptionID.rawValue)
                }
            }
            let copies = try log.takeCopies(of: old, for: continuation.subscriptions)
            if try !log.takeValues(of: old) {
                // Clients that watch values must read all of them again.
                try log.inTransaction(.full) { statements in
                    try log.database.changeState(statements) { $0.forgottenThrough = continuation.reservedBelow - 1 }
                }
            }
            try log.disk.checkpoints.run(.truncate)
            log.close()
            return copies
        } catch {
            file.remove()
            throw error
        }
    }

    /// Copies the stored copies of messages from the old log, for subscriptions whose cursor was not reset meanwhile.
    /// Unreadable copies are left out.
    ///
    /// - Parameter old: A log whose clock has the same time, so that the times of the copies stay valid.
    /// - Returns: The number of copies.
    private func takeCopies(of old: Log, for records: [DurableRecord]) throws -> Int {
        let ids = Set(records.filter { old.subscriptions.generation(of: $0.id) == $0.progress.generation }.map(\.id))
        let columns = "\(RedeliveryRow.columns), frame"
        guard !ids.isEmpty,
            let rows = try? RowScan(old.connection, columns, from: "redeliveries", key: "id", isSkipping: true)
        else { return 0 }
        var copies = 0
        var isAtEnd = false
        while !isAtEnd {
            try inTransaction(.normal) { statements in
                var bytes = 0
                while bytes < 1 << 20 {
                    guard let row = try? rows.next() else {
                        isAtEnd = true
                        return
                    }
                    guard let copy = RedeliveryRow(row), ids.contains(copy.subscription), copy.message(in: row) != nil
                    else { continue }
                    try copy.insert(row.bytes(RedeliveryRow.frameColumn), with: statements.redeliveries.insert)
                    copies += 1
                    bytes += Int(copy.bytes)
                }
            }
            disk.checkpointIfDue()
        }
        return copies
    }

    /// Continues the counters, the highest committed sequence and the record of the start of the log that this one
    /// replaces: power was not lost since then.
    fileprivate func adopt(_ old: Log) {
        contents.adopt(persistedThrough: old.persistedThrough)
        lostThrough = old.lostThrough
        writer.adopt(old.writer)
        pageCaches.adopt(old.pageCaches)
    }
}

extension Log {
    /// Notes the messages of the replaced log as deleted, in the transaction under way. The messages that this log has
    /// again are left out.
    fileprivate func noteLost(by old: Log, exceptFrom continuation: LogContinuation) {
        let last = continuation.firstSequence.map { $0 - 1 } ?? old.persistedThrough
        let kept = continuation.messageCount
        guard old.statistics.logMessages > kept else { return }
        deletions.note(.init(first: 1, last: last, count: min(last, old.statistics.logMessages - kept)))
    }
}

extension LogContinuation {
    /// The sequence of the first message in memory; nil if there is none.
    fileprivate var firstSequence: UInt64? { messages.first?.entries.first?.sequence }

    fileprivate var messageCount: UInt64 { messages.reduce(0) { $0 + UInt64($1.entries.count) } }

    /// The number of messages in memory that a subscription has not acknowledged.
    fileprivate func unread(of subscription: DurableRecord) -> UInt64 {
        var count: UInt64 = 0
        for block in messages {
            let entries = block.entries.filter { entry in
                block.withMessage(entry) { subscription.filter.matches($0.parts) }
            }
            let sequences = entries.map(\.sequence).filter { $0 > subscription.startedAfter }
            count += UInt64(subscription.progress.unacknowledged(of: sequences).count)
        }
        return count
    }
}
