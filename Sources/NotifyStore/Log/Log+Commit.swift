import NIOCore
import NotifyLog
import NotifyWire

extension Log {
    /// Commits the batch in one transaction, all or nothing.
    ///
    /// A batch counts as committed only if the files at their paths contain it, so the files are checked after each
    /// commit. Before a commit, only the size of the write-ahead log is checked, unless the last check found damage.
    func commit(_ batch: CommitBatch) -> CommitOutcome {
        var result: Result<Void, StorageFailure> = .success(())
        var remaining: StorageFailure?
        missingCopies = [:]
        do {
            if let corruption { throw corruption }
            try checkDamage()
            try undoRefusedBatch()
            do {
                do { try write(batch) } catch is UnwritableDeletions { try write(batch) }
            } catch {
                guard failure(error).kind == .full else { throw error }
                do {
                    guard makesRoom, makeRoom(for: batch) else { throw error }
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
            batchID: batch.id, result: result, statistics: statistics, missingCopies: missingCopies,
            remainingFailure: remaining)
    }

    /// Runs `body` in a transaction. On an error, the database is rolled back; the caller restores the state in memory.
    func inTransaction(_ synchronous: Synchronous, _ body: (Statements) throws -> Void) throws {
        let statements = try openStatements()
        let state = state
        try checkpoints.repairIfNeeded()
        try set(synchronous)
        try statements.begin.run()
        do {
            try body(statements)
            if deletions.hasRows { try writeDeletions(statements) }
            try statements.commit.run()
        } catch {
            if connection.isInTransaction { try? statements.rollBack.run() }
            self.state = state
            deletions.rollBack(isFull: (error as? SQLiteFailure)?.isFull ?? false)
            checkpoints.noteFailure(error)
            throw error
        }
        if deletions.commit() { replaceStaleDeletions() }
    }

    private func write(_ batch: CommitBatch) throws {
        let isFlushed = batch.isSynced || batch.reserveBelow != nil || !isMarkedInUse
        let nextName = names.nextID
        var last = persistedThrough
        let removed = try recordsRemoved(by: batch)
        openSegment.begin()
        batchDeletion = nil
        replacedInBatch = []
        missingCopies = [:]
        do {
            try inTransaction(isFlushed ? .full : .normal) { statements in
                try write(batch, last: &last, isFlushed: isFlushed, statements)
                // Undoing a refused batch does not restore what it has deleted.
                if batch.changesCopies, let damage = findDamage() { throw damage.storageFailure }
            }
        } catch {
            names.rollBack(toNextID: nextName)
            rollBackOpenSegment()
            measureFiles()
            throw error
        }
        if let damage = findDamage() {
            rollBackOpenSegment()
            refusedBatch = RefusedBatch(batch, after: self, removed: removed)
            // If undoing the batch fails, it is retried before the next commit and when the log is closed.
            try? undoRefusedBatch()
            throw damage.storageFailure
        }
        openSegment.commit()
        persistedThrough = last
        isMarkedInUse = true
        measureDisk()
        for change in batch.changes {
            forgetCaches(after: change)
            subscriptions.apply(change, at: clock.now)
        }
        copyBytes = batch.copyBytes
        if !batch.changes.isEmpty { pace.changed() }
        statistics.commits += 1
        statistics.syncs += isFlushed ? 1 : 0
        for block in batch.blocks { statistics.logMessages += UInt64(block.entries.count) }
        // The batch may delete messages that it appends.
        noteDeletedMessages()
    }

    /// Forgets the matching names of a subscription whose filter changes.
    private func forgetCaches(after change: DurableChange) {
        switch change {
        case .remove(let id): matchCaches[id] = nil
        case .replace(let record): matchCaches[record.id] = nil
        case .create, .countDeleted, .update, .setOwner, .addLoss, .forgetLoss, .keep, .forget, .delete: break
        }
    }

    private func write(
        _ batch: CommitBatch, last: inout UInt64, isFlushed: Bool, _ statements: Statements
    ) throws {
        if !isMarkedInUse { try markInUse(statements) }
        if !batch.blocks.isEmpty {
            let now = clock.now
            for block in batch.blocks { try append(block, after: &last, now: now, statements) }
        }
        if !batch.blocks.isEmpty || batch.isProbe { try checkCapacity(batch) }
        for change in batch.changes {
            try apply(change, statements)
        }
        // SQLite flushes only if a transaction writes pages, so a batch without changes would leave earlier commits
        // unflushed. This update always writes a page, because it increments the column `flushes`.
        if batch.reserveBelow != nil || (isFlushed && last == persistedThrough) {
            try changeState(statements) { state in
                state.reservedThrough = max(state.reservedThrough, batch.reserveBelow ?? 0)
                state.flushes &+= 1
            }
        }
    }

    private func append(
        _ block: LogBlock, after last: inout UInt64, now: Duration, _ statements: Statements
    ) throws {
        let insert = statements.insertMessage
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
                try append(message, body, bytes: Int(entry.length), now: now, insert, statements)
            }
        }
    }

    private func append(
        _ message: Delivery, _ body: UnsafeRawBufferPointer, bytes: Int, now: Duration, _ insert: PreparedStatement,
        _ statements: Statements
    ) throws {
        let stamp = message.stamp
        if openSegment.isFull(adding: bytes, now: now, options) { try closeSegment(statements) }
        let name = try intern(message.parts.name, statements)
        let key = SegmentEntry.Key(name: names.id(of: name), uid: stamp.uid)
        openSegment.insert(
            stamp.sequence, key.name, number: name, uid: stamp.uid, time: stamp.timeMicroseconds,
            bytes: bytes, now: now)
        try insert.bind(1, stamp.sequence)
        try insert.bind(2, key.column)
        try insert.bind(3, MessageRow.checksums(stamp.sequence, key, object: message.parts.object, body: body))
        try insert.bind(4, stamp.timeMicroseconds)
        try insert.bind(5, MessageRow.process(of: stamp))
        try insert.bindText(6, message.parts.object)
        try insert.bindText(7, message.parts.messageID)
        try insert.bindBlob(8, message.parts.headers)
        try insert.bindBlob(9, message.parts.payload)
        try insert.run()
    }

    private func intern(_ name: UnsafeRawBufferPointer, _ statements: Statements) throws -> NameTable.Number {
        if let number = names.find(name) { return number }
        guard !names.isExhausted else {
            throw StorageFailure(kind: .full, message: "the log has no id left for another name")
        }
        let number = names.add(name)
        try statements.insertName.bind(1, names.id(of: number))
        try statements.insertName.bindText(2, name)
        try statements.insertName.bind(3, NameRow.checksum(id: names.id(of: number), name))
        defer { statements.insertName.clearBindings() }
        try statements.insertName.run()
        return number
    }

    /// Sets SQLite's `synchronous` level. Must be called outside of transactions.
    func set(_ level: Synchronous) throws(SQLiteFailure) {
        guard synchronous != level else { return }
        synchronous = nil
        try connection.execute("PRAGMA synchronous = \(level.rawValue)")
        synchronous = level
    }
}
