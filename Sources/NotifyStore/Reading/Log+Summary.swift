import NotifyLog
import NotifyWire

/// Sums up the messages of each name, in slices between commits.
extension Log {
    /// The most messages that are read between two looks at the clock.
    private static let rowsPerStep: Int64 = 512

    func beginSummary(_ request: SummaryRequest) -> LogSummarySurvey {
        var survey = LogSummarySurvey(request, persistedThrough: persistedThrough)
        if !contents.openSegment.isEmpty {
            add(contents.openSegment.segment, contents.openSegment.entries, to: &survey)
        }
        return survey
    }

    /// Continues the survey until a time. The last step may take longer.
    ///
    /// - Returns: The totals of each name, with the name's id; nil if work remains.
    func continueSummary(
        _ survey: inout LogSummarySurvey, until end: ContinuousClock.Instant
    ) throws -> [(name: UInt32, totals: LogSummary.Totals)]? {
        repeat {
            if survey.scan != nil {
                try scan(&survey)
            } else if survey.isCounted {
                guard survey.beginScan() else { return survey.totals }
            } else if let row = try nextSegment(below: survey.below), row.segment.last >= survey.request.first {
                row.withEntries { add(row.segment, $0, to: &survey) }
            } else {
                survey.counted()
            }
        } while ContinuousClock.now < end
        return nil
    }

    private func add(_ segment: Segment, _ entries: some Sequence<SegmentEntry>, to survey: inout LogSummarySurvey) {
        let request = survey.request
        survey.add(segment, entries) {
            isMatching($0, request)
        } isDeadLetter: {
            isDeadLetter($0)
        }
    }

    private func isMatching(_ name: UInt32, _ request: SummaryRequest) -> Bool {
        guard let number = contents.names.number(ofID: name) else { return false }
        return contents.names.withBytes(of: number) { request.filter.matches(name: $0) && request.access.permits($0) }
    }

    /// Reads some of the messages of a segment.
    private func scan(_ survey: inout LogSummarySurvey) throws {
        guard var scan = survey.scan else { return }
        let request = survey.request
        _ = try openStatements()
        let rows = try PreparedStatement(
            connection,
            """
            SELECT \(MessageRow.keyColumns), time, \(MessageRow.byteCount), headers
            FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence LIMIT ?
            """)
        try rows.bind(1, scan.next)
        try rows.bind(2, scan.last)
        try rows.bind(3, Self.rowsPerStep)
        var count: Int64 = 0
        while try rows.step() {
            count += 1
            scan.next = rows.integer(0) + 1
            guard MessageRow.isKeySound(rows), let name = contents.names.number(ofID: MessageRow.key(rows).name) else {
                continue
            }
            let isDeadLetter = isDeadLetter(MessageRow.key(rows).name)
            if isDeadLetter, !isOriginalPermitted(name, headers: rows.bytes(6), request) { continue }
            let bytes =
                StoredUsage.messageOverhead + contents.names.withBytes(of: name) { $0.count } + Int(rows.integer(5))
            survey.read(
                rows.integer(0), MessageRow.key(rows).name, time: rows.integer(4), bytes: UInt64(bytes),
                isDeadLetter: isDeadLetter, of: scan
            ) { isMatching($0, request) }
        }
        survey.scan = count < Self.rowsPerStep ? nil : scan
    }

    /// Whether the reader may read the original message of a dead letter.
    private func isOriginalPermitted(
        _ name: NameTable.Number, headers: UnsafeRawBufferPointer, _ request: SummaryRequest
    ) -> Bool {
        contents.names.withBytes(of: name) { name in
            let none = UnsafeRawBufferPointer(start: nil, count: 0)
            return request.access.permitsOriginal(
                of: MessageParts(name: name, object: none, messageID: none, headers: headers, payload: none))
        }
    }

    /// The summary of the totals, in descending order of bytes. Names that were removed meanwhile are left out.
    func summary(
        _ totals: some Collection<(name: UInt32, totals: LogSummary.Totals)>, others: LogSummary.Totals?
    ) -> LogSummary {
        var summary = LogSummary()
        summary.others = others
        for (id, totals) in totals {
            guard let number = contents.names.number(ofID: id) else { continue }
            summary.names.append(.init(name: contents.names.withBytes(of: number) { Array($0) }, totals: totals))
        }
        return summary
    }
}
