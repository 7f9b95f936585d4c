import NotifyLog
import NotifyWire

/// The progress of a purge: first through the segments, from the oldest to the newest, and then through the copies of
/// messages.
struct PurgeSurvey {
    let request: PurgeRequest
    /// The last sequence to delete.
    let last: UInt64
    /// The last sequence when the purge began. Dead letters are examined up to this sequence, because a dead letter is
    /// newer than its original message and is deleted with it.
    let end: UInt64
    /// The purge continues with the oldest segment above this sequence.
    var position: UInt64 = 0
    /// The copies with ids up to this one were examined.
    var copyPosition: UInt64 = 0
    var result = PurgeResult()
    /// Whether the filter of the request matches, for each id of a name seen so far.
    private var matches: [UInt32: Bool] = [:]

    init(_ request: PurgeRequest, persistedThrough: UInt64) {
        self.request = request
        last = min(request.before - 1, persistedThrough)
        end = persistedThrough
    }

    /// Whether the purge deletes a copy.
    func contains(_ copy: RedeliveryRow) -> Bool {
        var name = copy.name
        return copy.sequence < request.before
            && name.withUTF8 { request.filter.matches(name: UnsafeRawBufferPointer($0)) }
    }

    /// Whether the purge deletes a dead letter because it deletes the original message.
    func contains(deadLetter headers: UnsafeRawBufferPointer) -> Bool {
        guard var letter = DeadLetterHeaders(reading: headers), letter.stamp.sequence < request.before else {
            return false
        }
        return letter.name.withUTF8 { request.filter.matches(name: UnsafeRawBufferPointer($0)) }
    }

    mutating func matches(_ name: UInt32, in names: borrowing NameTable) -> Bool {
        if let known = matches[name] { return known }
        guard let number = names.number(ofID: name) else { return false }
        let isMatch = names.withBytes(of: number) { request.filter.matches(name: $0) }
        matches[name] = isMatch
        return isMatch
    }
}

/// Deletes stored messages on request, in slices between commits. Each transaction deletes messages of one segment and
/// records the losses of durable subscriptions, so that the log is consistent after a crash.
extension Log {
    func beginPurge(_ request: PurgeRequest) throws -> PurgeSurvey {
        if let damage = disk.findDamage() { throw damage.storageFailure }
        if let corruption = database.corruption { throw corruption }
        let hasDeadLetters = contents.openSegment.entries.contains { isDeadLetter($0.name) }
        if !contents.openSegment.isEmpty, contents.openSegment.segment.first < request.before || hasDeadLetters {
            try withReserve(for: .deletion) { try closeOpenSegment() }
        }
        return PurgeSurvey(request, persistedThrough: persistedThrough)
    }

    /// Performs the next step of a purge.
    ///
    /// - Returns: Whether steps remain.
    func purgeNext(_ survey: inout PurgeSurvey) throws -> Bool {
        if let row = try nextSegment(above: survey.position), row.segment.first <= survey.end {
            try withReserve(for: .deletion) { try collect(into: &survey) { try purge(row, &$0) } }
            survey.position = row.segment.first
        } else if try !withReserve(for: .deletion, { try collect(into: &survey) { try purgeCopies(&$0) } }) {
            retention.pace.request()
            return false
        }
        disk.checkpointIfDue()
        return true
    }

    /// Performs a step of a purge, and adds its deletions to the result.
    private func collect<Result>(
        into survey: inout PurgeSurvey, _ step: (inout PurgeSurvey) throws -> Result
    ) throws -> Result {
        // Set aside, because the deletions before this step do not belong to the purge.
        let earlier = takeDeletion()
        defer {
            if var all = earlier {
                all.add(report.deletion)
                report.deletion = all
            }
        }
        let result = try step(&survey)
        survey.result.add(report.deletion)
        return result
    }

    private func purge(_ row: SegmentRow, _ survey: inout PurgeSurvey) throws {
        var row = row
        if let rest = try purgeDeadLetters(in: row, survey) { row = rest }
        guard row.segment.first <= survey.last else { return }
        var (deleted, kept): ([SegmentEntry], [SegmentEntry]) = ([], [])
        for entry in row.withEntries({ Array($0) }) {
            if survey.matches(entry.name, in: contents.names) { deleted.append(entry) } else { kept.append(entry) }
        }
        guard !deleted.isEmpty else { return }
        if row.segment.last <= survey.last {
            try delete(deleted, dropping: deleted, keeping: kept, from: row, isPurge: true)
        } else {
            let parts = try messages(of: deleted, from: row.segment.first, through: survey.last)
            try delete(parts, of: deleted, keeping: kept, from: row)
        }
    }

    /// Deletes the dead letters in a segment whose original messages the purge deletes.
    ///
    /// - Returns: The segment without these dead letters; nil if there are none.
    private func purgeDeadLetters(in row: SegmentRow, _ survey: PurgeSurvey) throws -> SegmentRow? {
        let entries = row.withEntries { Array($0) }
        let letters = entries.filter { isDeadLetter($0.name) }
        guard !letters.isEmpty else { return nil }
        let parts = try messages(of: letters, from: row.segment.first, through: row.segment.last) {
            survey.contains(deadLetter: $0)
        }
        guard parts.contains(where: { !$0.value.sequences.isEmpty }) else { return nil }
        let others = entries.filter { entry in !letters.contains { $0.key == entry.key } }
        return try delete(parts, of: letters, keeping: others, from: row)
    }

    /// Whether the messages of a name are dead letters.
    func isDeadLetter(_ name: UInt32) -> Bool {
        guard let number = contents.names.number(ofID: name) else { return false }
        return contents.names.withBytes(of: number) { DeadLetterHeaders.isDeadLetter($0) }
    }

    /// Deletes some messages of a segment, and reduces their entries.
    ///
    /// - Parameters:
    ///   - parts: The messages to delete, for each of `entries`.
    ///   - kept: The other entries of the segment.
    /// - Returns: The segment without the deleted messages.
    @discardableResult
    private func delete(
        _ parts: [SegmentEntry.Key: DeletedPart], of entries: [SegmentEntry], keeping kept: [SegmentEntry],
        from row: SegmentRow
    ) throws -> SegmentRow {
        var result = Deletion()
        let rest = entries.map { $0.reduced(by: parts[$0.key]) }
        try applyValues(of: row.segment.first...row.segment.last)
        try inTransaction(.normal) { statements in
            let deleted = zip(entries, rest).map { $0.reduced(to: $1) }
            result = Deletion(usage: contents.names.usage(of: deleted.filter { $0.messages > 0 }))
            for (entry, behind) in unreadEntries(of: entries, through: row.segment.last) {
                addLosses(of: entry, parts[entry.key]?.sequences ?? [], to: behind, &result)
            }
            for part in parts.values {
                for sequence in part.sequences { try delete(sequence...sequence, statements) }
            }
            if !result.usage.isEmpty {
                try replace(row, with: kept + rest.filter { $0.messages > 0 }, statements)
            }
            try write(result.losses, statements)
            noteDeleted(parts)
        }
        result.isPurge = true
        contents.removeMessages(result.usage.values.reduce(0) { $0 + UInt64($1.messages) })
        report.deletion.add(result)
        return row.replacing(kept + rest.filter { $0.messages > 0 })
    }

    /// The messages of each entry in a range of sequences. Messages with damaged key columns are left out, because
    /// their names are unknown.
    ///
    /// - Parameter isIncluded: Returns whether to include the message with these headers.
    private func messages(
        of entries: [SegmentEntry], from first: UInt64, through last: UInt64,
        where isIncluded: (UnsafeRawBufferPointer) -> Bool = { _ in true }
    ) throws -> [SegmentEntry.Key: DeletedPart] {
        var parts = Dictionary(entries.map { ($0.key, DeletedPart()) }) { first, _ in first }
        let rows = try PreparedStatement(
            connection,
            """
            SELECT \(MessageRow.keyColumns), \(MessageRow.byteCount), headers
            FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence
            """)
        try rows.bind(1, first)
        try rows.bind(2, last)
        while try rows.step() {
            let key = MessageRow.key(rows)
            guard MessageRow.isKeySound(rows), parts[key] != nil, let name = contents.names.number(ofID: key.name),
                isIncluded(rows.bytes(5))
            else { continue }
            parts[key]?.add(rows.integer(0), bytes: storedBytes(rows, of: name))
        }
        return parts
    }
}
