import NotifyLog
import NotifyWire

extension Log {
    /// Reads what the log must have in memory.
    ///
    /// The database is not checked as a whole, also not after a crash: that would read every byte of it at each start.
    /// SQLite's write-ahead log is protected by checksums and ends for it at the last commit that is whole, so a killed
    /// process or lost power leaves the state after some commit. Damage from elsewhere shows in the read that meets it.
    ///
    /// - Parameter usedBelow: Where the sequences ended that a process of this boot used; 0 where that is unknown.
    func recover(usedBelow: UInt64) throws -> RecoveredLog {
        try readNames()
        let state = try PreparedStatement(
            connection, "SELECT reserved_through, next_sequence, next_subscription, clean FROM state")
        guard try state.step() else { throw StoreError(.damaged, "the row of the log's state is missing") }
        let wasClean = state.integer(3) != 0
        // After a clean stop, a process that could write nothing for lack of space may have used more.
        let mark = wasClean ? max(state.integer(1), usedBelow) : usedBelow > 0 ? usedBelow : state.integer(0)
        let nextSubscription = state.integer32(2)
        state.reset()

        try readSegments()
        let next = max(mark, persistedThrough + 1)
        guard next < Limits.sequenceEnd else {
            throw StoreError(.damaged, "the log's next sequence, \(next), is none that there can be")
        }
        let subscriptions = try readSubscriptions()
        isMarkedInUse = !wasClean
        measureFiles()
        return RecoveredLog(
            nextSequence: next, persistedThrough: persistedThrough,
            subscriptions: subscriptions, wasClosedCleanly: wasClean, nextSubscriptionID: DurableID(nextSubscription))
    }

    /// Marks the log as in use, so that a crash from here on is known for one. On a full disk the first commit does that:
    /// until then nothing is stored or handed over.
    func markInUse() throws {
        guard !isMarkedInUse else { return }
        do {
            try inTransaction(.full, markInUse)
            isMarkedInUse = true
        } catch let failure as SQLiteFailure where failure.isFull {}
    }

    func markInUse(_ statements: Statements) throws {
        try connection.execute("UPDATE state SET clean = 0")
    }

    /// Leaves the exact next sequence for the next start, moves everything into the database, and releases the
    /// statements. Nothing may follow.
    func finish(nextSequence: UInt64) throws {
        defer { statements = nil }
        if let damage = findDamage(), damage.file == .database || files.isCut {
            // The files may come back before the next start.
            try? takeBackRefusedBatch()
            throw damage.storageFailure
        }
        try takeBackRefusedBatch()
        try inTransaction(.full) { _ in
            // Reserved may be below where the sequences of an earlier clean stop were gone on with.
            try connection.execute(
                """
                UPDATE state SET clean = 1, next_sequence = \(nextSequence),
                    reserved_through = max(reserved_through, \(nextSequence))
                """)
        }
        if damage != nil { return try checkpoints.run(.truncate) }
        // What stays in the write-ahead log is moved at the next start.
        try? checkpoints.run(.truncate)
    }

    /// The random identity that the log was given when it was created.
    func readID() throws -> [UInt8] {
        let state = try PreparedStatement(connection, "SELECT log_id FROM state")
        guard try state.step() else { throw StoreError(.damaged, "the row of the log's state is missing") }
        return state.blob(0)
    }

    private func readNames() throws {
        let rows = try PreparedStatement(connection, "SELECT id, name FROM names ORDER BY id")
        while try rows.step() {
            let name = rows.bytes(1)
            guard rows.integer(0) == UInt64(names.count) + 1, (1...Limits.nameBytes).contains(name.count) else {
                throw StoreError(.damaged, "the log's name \(names.count + 1) is missing or is no name")
            }
            _ = names.add(name)
        }
    }

    /// Counts what closed segments hold and goes through the messages after them, one segment's at most.
    private func readSegments() throws {
        let closed = try PreparedStatement(
            connection, "SELECT coalesce(sum(messages), 0), coalesce(max(segment) + 1, 0) FROM segments")
        guard try closed.step() else { return }
        statistics.logMessages = closed.integer(0)
        let firstOpen = closed.integer(1)
        closed.reset()

        let rows = try PreparedStatement(connection, "SELECT sequence, name FROM messages WHERE sequence >= ?")
        try rows.bind(1, Segment.first(of: firstOpen))
        while try rows.step() {
            persistedThrough = rows.integer(0)
            let segment = Segment.containing(persistedThrough)
            if openSegment.messages == 0 { openSegment.enter(segment) }
            guard segment == openSegment.number, names.contains(id: rows.integer32(1)) else {
                throw StoreError(.damaged, "message \(persistedThrough) of the log contradicts its names or segments")
            }
            openSegment.insert(rows.integer32(1))
        }
        statistics.logMessages += openSegment.messages
    }
}
