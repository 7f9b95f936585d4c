import NIOCore
import NotifyLog
import NotifyWire

extension Log {
    /// Commits the batch in one transaction, all or nothing.
    ///
    /// A batch counts as committed only if the files at their paths contain it. So the files are checked after each
    /// commit, because files can be moved away, replaced or truncated while they are open. Before a commit only the
    /// size of the write-ahead log is checked, because a write beyond the end of a truncated file would hide the
    /// truncation. Both files are checked if the last check failed, or if the batch may delete messages or marks of
    /// cleared values, or change copies.
    func commit(_ batch: CommitBatch) -> CommitOutcome {
        var result: Result<Void, StorageFailure> = .success(())
        var remaining: StorageFailure?
        writer.begin()
        do {
            if let corruption = database.corruption { throw corruption }
            try disk.checkDamage()
            try undoRefusedBatch()
            do {
                // If the table of deletions is damaged, the second attempt succeeds, because it writes no deletions.
                do { try write(batch) } catch is UnwritableDeletions { try write(batch) }
            } catch {
                guard failure(error).kind == .full else { throw error }
                do {
                    guard writer.makesRoom, makeRoom(for: batch) else { throw error }
                    try write(batch)
                } catch {
                    guard batch.blocks.isEmpty, !batch.changes.isEmpty else { throw error }
                    var changes = batch
                    changes.isProbe = false
                    try withReserve(for: batch.isDeletion ? .deletion : .change) { try write(changes) }
                    remaining = failure(error)
                }
            }
        } catch {
            result = .failure(failure(error))
        }
        return CommitOutcome(
            batchID: batch.id, result: result, statistics: statistics, missingCopies: writer.missingCopies,
            remainingFailure: remaining)
    }

    /// Runs `body` in a transaction. On an error, the database, its state and the deletions are rolled back; the caller
    /// rolls back what else `body` has changed in memory.
    func inTransaction(_ synchronous: LogDatabase.Synchronous, _ body: (Statements) throws -> Void) throws {
        let statements = try openStatements()
        let state = database.state
        try disk.checkpoints.repairIfNeeded()
        try database.set(synchronous)
        do {
            try statements.transaction.run {
                try body(statements)
                if deletions.hasRows { try writeDeletions(statements) }
            }
        } catch {
            database.restore(state)
            deletions.rollBack(isFull: (error as? SQLiteFailure)?.isFull ?? false)
            disk.checkpoints.noteFailure(error)
            throw error
        }
        if deletions.commit() { replaceStaleDeletions() }
    }

    private func write(_ batch: CommitBatch) throws {
        let isFlushed = batch.isSynced || batch.reserveBelow != nil || !writer.isMarkedInUse
        var last = persistedThrough
        var changes = ValueWriter(batch.values, lastNumber: values.lastNumber)
        let removed = try recordsRemoved(by: batch)
        contents.begin()
        writer.begin()
        do {
            try inTransaction(isFlushed ? .full : .normal) { statements in
                try write(batch, &changes, last: &last, isFlushed: isFlushed, statements)
                // Before the commit of a batch that may delete messages or marks of cleared values, or change copies,
                // the files are checked: `undoRefusedBatch` cannot restore these.
                if batch.changesCopies || !batch.forgottenValues.numbers.isEmpty, let damage = disk.findDamage() {
                    throw damage.storageFailure
                }
            }
        } catch {
            contents.rollBack()
            subscriptions.rollBack()
            disk.measure()
            throw error
        }
        if let damage = disk.findDamage() {
            contents.rollBack(keepingNames: true)
            subscriptions.rollBack()
            writer.refusedBatch = RefusedBatch(batch, after: contents, removed: removed)
            // If undoing the batch fails, it is retried before the next commit and when the log is closed.
            try? undoRefusedBatch()
            throw damage.storageFailure
        }
        contents.commit(through: last, messages: batch.blocks.reduce(0) { $0 + UInt64($1.entries.count) })
        if !batch.values.isEmpty {
            values.add(changes.recorded, at: clock.now)
            values.noteRows(through: changes.lastNumber)
        }
        let forgotten = batch.forgottenValues.numbers
        if !forgotten.isEmpty { values.forgot(forgotten) }
        disk.measureSpace()
        for change in batch.changes { forgetCaches(after: change) }
        subscriptions.commit(batch, at: clock.now)
        if !batch.changes.isEmpty { retention.pace.changed() }
        if let deleted = writer.commit(isFlushed: isFlushed) { noteDeleted(deleted) }
    }

    /// Drops the cached names that match a subscription if the change removes or replaces the subscription.
    private func forgetCaches(after change: DurableChange) {
        switch change {
        case .remove(let id): pageCaches.forget(id)
        case .replace(let record): pageCaches.forget(record.id)
        case .create, .countDeleted, .update, .setOwner, .addLoss, .forgetLoss, .keep, .forget, .delete: break
        }
    }

    private func write(
        _ batch: CommitBatch, _ changes: inout ValueWriter, last: inout UInt64, isFlushed: Bool,
        _ statements: Statements
    ) throws {
        if !writer.isMarkedInUse { try markInUse(statements) }
        if !batch.blocks.isEmpty {
            let now = clock.now
            for block in batch.blocks { try append(block, &changes, after: &last, now: now, statements) }
            try changes.finish(statements.values)
        }
        if !batch.blocks.isEmpty || batch.isProbe {
            let added = changes.recorded.reduce(0) { $0 + $1.bytes }
            try disk.checkCapacity(batch, unappliedBytes: unappliedBytes + UInt64(2 * added))
        }
        for change in batch.changes {
            try apply(change, statements)
        }
        try forget(batch.forgottenValues, statements)
        // SQLite flushes only if a transaction writes pages, so a batch without changes would leave earlier commits
        // unflushed. This update always writes a page, because it increments the column `flushes`.
        if batch.reserveBelow != nil || (isFlushed && last == persistedThrough) {
            try database.changeState(statements) { state in
                state.reservedThrough = max(state.reservedThrough, batch.reserveBelow ?? 0)
                state.flushes &+= 1
            }
        }
    }

    /// Appends messages, and writes the changes of values that they make.
    private func append(
        _ block: LogBlock, _ changes: inout ValueWriter, after last: inout UInt64, now: Duration,
        _ statements: Statements
    ) throws {
        let insert = statements.messages.insert
        defer { insert.clearBindings() }
        try block.frames.withUnsafeReadableBytes { bytes in
            for entry in block.entries {
                guard entry.sequence > last else {
                    throw StorageFailure(
                        kind: .inputOutput, message: "message \(entry.sequence) follows message \(last), out of order")
                }
                last = entry.sequence
                let start = Int(entry.offset) + FrameHeader.size
                let end = Int(entry.offset) + Int(entry.length)
                let body = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                let message = try Delivery(reading: body)
                if contents.openSegment.isFull(adding: Int(entry.length), now: now, options) {
                    try closeSegment(statements)
                }
                try contents.append(
                    message, body, bytes: Int(entry.length), now: now, with: insert, statements)
                try changes.write(message, body, statements.values)
            }
        }
    }

    /// Writes the row of the open segment and the time of the log, and opens the next segment. Does nothing if the open
    /// segment has no messages.
    func closeSegment(_ statements: Statements) throws {
        guard !contents.openSegment.isEmpty else { return }
        let row = contents.closedRow(at: clock.now)
        try row.write(with: statements.segments.insert)
        try database.changeState(statements) { $0.clock = clock.mark }
        retention.closed(row.segment, contents.openSegment.entries, contents.names)
        contents.openNextSegment()
    }
}
