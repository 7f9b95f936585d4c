import NotifyLog
import NotifyWire

/// Counting the messages that durable subscriptions have not acknowledged, in slices between commits.
extension Log {
    /// The most messages that are scanned between two looks at the clock.
    private static let rowsPerStep: Int64 = 512

    /// Continues the count until a time. The last step may take longer.
    ///
    /// - Returns: The backlogs; nil if work remains.
    func continueBacklogs(
        _ survey: inout BacklogSurvey, until end: ContinuousClock.Instant? = nil
    ) throws -> [DurableID: Backlog]? {
        func isOver() -> Bool { end.map { ContinuousClock.now >= $0 } ?? false }
        while !survey.isFinished {
            guard !isOver() else { return nil }
            try continueBacklogs(&survey)
        }
        while let id = survey.nextWithUnreadCopies() {
            survey.setOldestCopy(try timeOfOldestCopy(of: id), of: id)
            guard !isOver() else { return nil }
        }
        return survey.backlogs
    }

    /// - Parameter policy: The access policy. Messages that no owner of a subscription may receive do not count. Nil if
    ///   all messages count.
    func beginBacklogs(under policy: AccessPolicy?) -> BacklogSurvey {
        var survey = BacklogSurvey(
            subscriptions.all, under: policy, below: persistedThrough + 1, now: clock.now)
        if !contents.openSegment.isEmpty {
            survey.current = .init(
                segment: contents.openSegment.segment, entries: contents.openSegment.entries,
                scannedDownTo: persistedThrough + 1)
        }
        return survey
    }

    private func continueBacklogs(_ survey: inout BacklogSurvey) throws {
        guard var current = survey.current else {
            if let row = try nextSegment(below: survey.below) {
                survey.current = .init(
                    segment: row.segment, entries: row.withEntries { Array($0) }, scannedDownTo: row.segment.last + 1)
            } else {
                _ = survey.finish(from: 0)
            }
            return
        }
        guard survey.finish(from: current.segment.last) else { return }
        switch survey.step(current) {
        case .scan:
            survey.current = nil
            try scan(&current, &survey)
            survey.current = current
        case .add:
            if !current.isScanned { addEntries(of: current, &survey) }
            guard survey.finish(from: current.segment.first, isInexact: !current.isScanned) else { return }
            addEntries(of: current, &survey)
            survey.segmentEnded()
            survey.below = current.segment.first
            survey.current = nil
        }
    }

    /// Adds the entries of the current segment, once.
    private func addEntries(of current: BacklogSurvey.Current, _ survey: inout BacklogSurvey) {
        guard !(survey.current?.isAdded ?? true) else { return }
        survey.current?.isAdded = true
        for entry in current.entries {
            guard let name = contents.names.number(ofID: entry.name) else { continue }
            survey.add(entry, group(of: name, &survey), of: current.segment)
        }
    }

    private func group(of name: NameTable.Number, _ survey: inout BacklogSurvey) -> Int32 {
        let policy = survey.policy
        return survey.group(of: name) {
            contents.names.withBytes(of: name) { name in
                (subscriptions.slots(for: name, under: policy), DeadLetterHeaders.isDeadLetter(name))
            }
        }
    }

    /// Scans some of the messages of a segment, from the newest to the oldest.
    private func scan(_ current: inout BacklogSurvey.Current, _ survey: inout BacklogSurvey) throws {
        _ = try openStatements()
        let rows = try PreparedStatement(
            connection,
            """
            SELECT sequence, key, time, \(MessageRow.byteCount)
            FROM messages WHERE sequence >= ? AND sequence < ? ORDER BY sequence DESC LIMIT ?
            """)
        try rows.bind(1, current.segment.first)
        try rows.bind(2, current.scannedDownTo)
        try rows.bind(3, Self.rowsPerStep)
        var count: Int64 = 0
        while try rows.step() {
            count += 1
            current.scannedDownTo = rows.integer(0)
            guard let name = contents.names.number(ofID: MessageRow.key(rows).name) else { continue }
            let bytes =
                StoredUsage.messageOverhead + contents.names.withBytes(of: name) { $0.count } + Int(rows.integer(3))
            survey.scanned(rows.integer(0), group(of: name, &survey), bytes: UInt64(bytes), time: rows.integer(2))
        }
        if count < Self.rowsPerStep {
            current.isScanned = true
            survey.scanEnded()
        }
    }
}
