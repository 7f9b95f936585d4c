import NotifyLog

/// A purge that is under way, from the oldest segment to the newest.
struct PurgeSurvey {
    let request: PurgeRequest
    /// The last sequence to delete.
    let last: UInt64
    /// The purge continues with the oldest segment above this sequence.
    var position: UInt64 = 0
    var result = PurgeResult()
    /// For each id of a name seen so far, whether it matches.
    private var matches: [UInt32: Bool] = [:]

    init(_ request: PurgeRequest, persistedThrough: UInt64) {
        self.request = request
        last = min(request.before - 1, persistedThrough)
    }

    mutating func matches(_ name: UInt32, in names: borrowing NameTable) -> Bool {
        if let known = matches[name] { return known }
        guard let number = names.number(ofID: name) else { return false }
        let isMatch = names.withBytes(of: number) { request.filter.matches(name: $0) }
        matches[name] = isMatch
        return isMatch
    }
}

/// Deletes stored messages on request, in slices between commits. Each segment is one transaction, with the losses of
/// durable subscriptions, so that the log is consistent after a crash.
extension Log {
    private static let slice = Duration.milliseconds(2)

    func beginPurge(_ request: PurgeRequest) throws {
        if let damage = findDamage() { throw damage.storageFailure }
        if let corruption { throw corruption }
        if openSegment.segment.first < request.before { try closeOpenSegment() }
        purgeSurvey = PurgeSurvey(request, persistedThrough: persistedThrough)
    }

    /// Works for one slice.
    ///
    /// - Returns: What was deleted; nil if work remains.
    func continuePurge() throws -> PurgeResult? {
        let end = ContinuousClock.now + Self.slice
        repeat {
            guard var survey = purgeSurvey.take() else {
                throw StorageFailure(kind: .inputOutput, message: "the log was replaced meanwhile")
            }
            guard let row = try nextSegment(above: survey.position), row.segment.first <= survey.last else {
                // Names without messages are removed, and space is returned.
                pace.request()
                return survey.result
            }
            survey.position = row.segment.first
            try purge(row, &survey)
            purgeSurvey = survey
            checkpointIfDue()
        } while ContinuousClock.now < end
        return nil
    }

    private func purge(_ row: SegmentRow, _ survey: inout PurgeSurvey) throws {
        let earlier = takeDeletion()
        defer {
            if var all = earlier {
                all.add(deletion)
                deletion = all
            }
        }
        var (deleted, kept): ([SegmentEntry], [SegmentEntry]) = ([], [])
        for entry in row.withEntries({ Array($0) }) {
            if survey.matches(entry.name, in: names) { deleted.append(entry) } else { kept.append(entry) }
        }
        guard !deleted.isEmpty else { return }
        if row.segment.last <= survey.last {
            try delete(deleted, dropping: deleted, keeping: kept, from: row, isPurge: true)
        } else {
            try delete(deleted, keeping: kept, from: row, through: survey.last)
        }
        survey.result.add(deletion)
    }

    /// Deletes the messages of some entries up to a sequence within the segment, and reduces these entries.
    private func delete(
        _ entries: [SegmentEntry], keeping kept: [SegmentEntry], from row: SegmentRow, through last: UInt64
    ) throws {
        var result = Deletion()
        try inTransaction(.normal) { statements in
            let parts = try messages(of: entries, from: row.segment.first, through: last)
            let rest = entries.map { $0.reduced(by: parts[$0.key]) }
            let deleted = zip(entries, rest).map { $0.reduced(to: $1) }
            result = Deletion(usage: deleted.filter { $0.messages > 0 }.usage)
            for (entry, behind) in unreadEntries(of: entries, through: row.segment.last) {
                addLosses(of: parts[entry.key]?.sequences ?? [], to: behind, &result)
            }
            for part in parts.values {
                for sequence in part.sequences { try delete(sequence...sequence, statements) }
            }
            if !result.usage.isEmpty {
                try replace(row, with: kept + rest.filter { $0.messages > 0 }, statements)
            }
            try write(result.losses, statements)
        }
        result.isPurge = true
        statistics.logMessages -= result.usage.values.reduce(0) { $0 + UInt64($1.messages) }
        deletion.add(result)
    }

    /// The messages of each entry in a range of sequences. Damaged ones, whose name is unknown, stay.
    private func messages(
        of entries: [SegmentEntry], from first: UInt64, through last: UInt64
    ) throws -> [SegmentEntry.Key: DeletedPart] {
        var parts = Dictionary(entries.map { ($0.key, DeletedPart()) }) { first, _ in first }
        let rows = try PreparedStatement(
            connection,
            """
            SELECT \(MessageRow.keyColumns), \(MessageRow.byteCount)
            FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence
            """)
        try rows.bind(1, first)
        try rows.bind(2, last)
        while try rows.step() {
            let key = MessageRow.key(rows)
            guard MessageRow.isKeySound(rows), parts[key] != nil, let name = names.number(ofID: key.name) else {
                continue
            }
            parts[key]?.add(rows.integer(0), bytes: storedBytes(rows, of: name))
        }
        return parts
    }
}
