import NotifyLog
import NotifySystem
import NotifyWire

extension Log {
    /// Reads the state that the log keeps in memory.
    ///
    /// The database is not checked as a whole, not even after a crash, because a check would read every byte at each
    /// start. SQLite's write-ahead log has checksums, and SQLite ignores everything after the last complete commit. So
    /// a killed process or a power loss leaves the state after some commit. Other damage of the content is reported by
    /// the read that finds it.
    ///
    /// - Parameter usedBelow: The lowest sequence not used by any process since boot; 0 if unknown.
    func recover(usedBelow: UInt64) throws -> RecoveredLog {
        let state = database.state
        let wasClean = state.isClean
        // `usedBelow` can be higher than the sequence recorded at the clean stop: on a full disk, a later run may have
        // used sequences although it could not mark the log as in use.
        let mark =
            wasClean ? max(state.nextSequence, usedBelow) : usedBelow > 0 ? usedBelow : state.reservedThrough
        clock = LogClock(options.clock, continuing: state.clock)
        contents.skipNameIDs(below: UInt32(clamping: state.nextName))
        let found = try contents.read(connection, now: clock.now)
        let values = try readStoredValues()
        // After a purge, a value or a forgotten mark may have a higher sequence than all messages.
        contents.adopt(persistedThrough: max(values.last, state.forgottenThrough))
        let next = max(mark, persistedThrough + 1)
        guard next < Limits.sequenceEnd else {
            throw StoreError(.damaged, "the log's next sequence \(next) is out of range")
        }
        let damagedDeletions = try readDeletions(before: next)
        let records = try readSubscriptions()
        try track(records)
        if !wasClean && usedBelow == 0 { lostThrough = next - 1 }
        writer.isMarkedInUse = !wasClean && lostThrough == 0
        disk.measure()
        var recovered = RecoveredLog(
            nextSequence: next, persistedThrough: persistedThrough,
            subscriptions: records, usage: found.usage, names: found.names, wasClosedCleanly: wasClean,
            nextSubscriptionID: DurableID(UInt32(clamping: state.nextSubscription)), epoch: state.epoch)
        let (redeliveries, reasons, damaged) = try readRedeliveries()
        recovered.redeliveries = redeliveries
        recovered.failureReasons = reasons.mapValues { ($0.sequence, $0.failures, $0.reason) }
        for record in records {
            let bytes = redeliveries[record.id, default: []].reduce(0) { $0 + Int($1.bytes) }
            subscriptions.addCopies(bytes: bytes, of: record.owner.uid)
        }
        recovered.values = values.values
        if values.damaged > 0 {
            recovered.problem =
                "the log is damaged: values are lost (\(values.damaged)); \"notifyctl check\" lists the damage"
        } else if damaged > 0 {
            recovered.problem =
                "the log is damaged: copies of messages that durable subscriptions were to receive again are lost "
                + "(\(damaged)); \"notifyctl check\" lists the damage"
        } else if damagedDeletions > 0 {
            recovered.problem =
                "the log is damaged: records of deletions are lost (\(damagedDeletions)); clients that were reading the "
                + "log before this start learn only an upper bound of the number of messages that they have missed"
        }
        return recovered
    }

    /// Marks the log as in use, so that the next start detects a crash, and records that changes of values may be lost.
    /// On a full disk the first commit does so: until then no message is stored, and none is delivered to a durable
    /// subscription.
    func markInUse() throws {
        guard !writer.isMarkedInUse else { return }
        do {
            try inRepeatableTransaction(.full, markInUse)
            writer.isMarkedInUse = true
        } catch let failure as SQLiteFailure where failure.isFull {}
    }

    func markInUse(_ statements: Statements) throws {
        try database.changeState(statements) { state in
            state.isClean = false
            state.forgottenThrough = max(state.forgottenThrough, lostThrough)
        }
    }

    /// Records the exact next sequence for the next start, checkpoints the write-ahead log, and releases the
    /// statements. Must be the last call.
    func finish(nextSequence: UInt64) throws {
        defer {
            database.finalizeStatements()
            disk.finalizeStatements()
        }
        if let damage = disk.findDamage(), damage.file == .database || disk.files.isTruncated {
            // The refused batch is removed even if the files were moved away, because they may be moved back before the
            // next start.
            try? undoRefusedBatch()
            throw damage
        }
        try undoRefusedBatch()
        try inRepeatableTransaction(.full) { statements in
            try database.changeState(statements) { state in
                state.clock = clock.mark
                state.isClean = true
                state.nextSequence = nextSequence
                // `reservedThrough` may be lower than the next sequence, because a run can use sequences before its
                // first reservation.
                state.reservedThrough = max(state.reservedThrough, nextSequence)
            }
        }
        // The write-ahead log is no longer at its path, so the next start needs all pages in the database.
        if disk.damage != nil { return try disk.checkpoints.run(.truncate) }
        // If this fails, the next start recovers from the write-ahead log.
        try? disk.checkpoints.run(.truncate)
    }
}
