import NotifyLog
import NotifyWire

extension Log {
    /// Reads the state that the log keeps in memory.
    ///
    /// The database is not checked as a whole, not even after a crash: that would read every byte of it at each start.
    /// SQLite's write-ahead log has checksums, and SQLite ignores everything after its last complete commit, so a
    /// killed process or a power loss leaves the state after some commit. Other damage is reported by the read that
    /// finds it.
    ///
    /// - Parameter usedBelow: The lowest sequence not used by any process since boot; 0 if unknown.
    func recover(usedBelow: UInt64) throws -> RecoveredLog {
        try readNames()
        let state = try PreparedStatement(
            connection, "SELECT reserved_through, next_sequence, next_subscription, clean FROM state")
        guard try state.step() else { throw StoreError(.damaged, "the row of the log's state is missing") }
        let wasClean = state.integer(3) != 0
        // `usedBelow` can be higher than the sequence recorded at the clean stop: on a full disk, a later run may have
        // used sequences although it could not mark the log as in use.
        let mark = wasClean ? max(state.integer(1), usedBelow) : usedBelow > 0 ? usedBelow : state.integer(0)
        let nextSubscription = state.integer32(2)
        state.reset()

        try readSegments()
        let next = max(mark, persistedThrough + 1)
        guard next < Limits.sequenceEnd else {
            throw StoreError(.damaged, "the log's next sequence \(next) is out of range")
        }
        let subscriptions = try readSubscriptions()
        isMarkedInUse = !wasClean
        measureFiles()
        return RecoveredLog(
            nextSequence: next, persistedThrough: persistedThrough,
            subscriptions: subscriptions, usage: try readUsage(), wasClosedCleanly: wasClean,
            nextSubscriptionID: DurableID(nextSubscription))
    }

    /// Marks the log as in use, so that the next start detects a crash. On a full disk the first commit does this:
    /// until then no message is stored, and none is delivered to a durable subscription.
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

    /// Records the exact next sequence for the next start, checkpoints the write-ahead log, and releases the
    /// statements. Must be the last call.
    func finish(nextSequence: UInt64) throws {
        defer { statements = nil }
        if let damage = findDamage(), damage.file == .database || files.isTruncated {
            // The damage may be that the files were moved away. The refused batch is removed from them even then,
            // because they may be moved back before the next start.
            try? undoRefusedBatch()
            throw damage.storageFailure
        }
        try undoRefusedBatch()
        try inTransaction(.full) { _ in
            // `reserved_through` may be lower than the next sequence, because a run can use sequences before its first
            // reservation.
            try connection.execute(
                """
                UPDATE state SET clean = 1, next_sequence = \(nextSequence),
                    reserved_through = max(reserved_through, \(nextSequence))
                """)
        }
        if damage != nil { return try checkpoints.run(.truncate) }
        // If this fails, the next start recovers from the write-ahead log.
        try? checkpoints.run(.truncate)
    }

    /// The random id that the log got when it was created.
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
                throw StoreError(.damaged, "the log's name \(names.count + 1) is missing or invalid")
            }
            _ = names.add(name)
        }
    }

    /// Counts the messages of closed segments, and scans the messages after them, at most one segment.
    private func readSegments() throws {
        let closed = try PreparedStatement(
            connection, "SELECT coalesce(sum(messages), 0), coalesce(max(segment) + 1, 0) FROM segments")
        guard try closed.step() else { return }
        statistics.logMessages = closed.integer(0)
        let firstOpen = closed.integer(1)
        closed.reset()

        let rows = try PreparedStatement(
            connection,
            """
            SELECT sequence, name, uid, coalesce(length(CAST(object AS BLOB)), 0)
                + coalesce(length(CAST(id AS BLOB)), 0) + coalesce(length(headers), 0) + coalesce(length(payload), 0)
            FROM messages WHERE sequence >= ?
            """)
        try rows.bind(1, Segment.first(of: firstOpen))
        while try rows.step() {
            persistedThrough = rows.integer(0)
            let segment = Segment.containing(persistedThrough)
            if openSegment.messages == 0 { openSegment.enter(segment) }
            let name = rows.integer32(1)
            guard segment == openSegment.number, names.contains(id: name) else {
                throw StoreError(.damaged, "message \(persistedThrough) of the log contradicts its names or segments")
            }
            let nameBytes = names.withBytes(of: name) { $0.count }
            openSegment.insert(
                name, StoredUsage.messageOverhead + nameBytes + Int(rows.integer(3)), of: rows.integer32(2))
        }
        statistics.logMessages += openSegment.messages
    }
}
