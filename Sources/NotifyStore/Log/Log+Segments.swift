import NotifyLog

/// Segments as rows.
extension Log {
    /// Writes the row of the open segment, if it has messages, and the time of the log. Opens the next segment.
    func closeSegment(_ statements: Statements) throws {
        guard !openSegment.isEmpty else { return }
        let row = SegmentRow(
            segment: openSegment.segment, closed: clock.now, entries: SegmentEncoding.encode(openSegment.entries))
        try row.write(with: statements.insertSegment)
        try saveClock(statements)
        if var survey = survey.take() {
            referToOpenNames(&survey)
            self.survey = survey
        }
        openSegment.reset()
        pace.closed(messages: row.segment.messages)
    }

    /// Restores the open segment as it was before the batch.
    func rollBackOpenSegment() {
        openSegment.rollBack(names)
    }

    /// Notes that the open segment has messages of its names.
    func referToOpenNames(_ survey: inout RetentionSurvey) {
        for entry in openSegment.entries {
            if let name = names.number(ofID: entry.name) { survey.refers(to: name) }
        }
    }

    /// Saves the time of the log, from which the next start continues.
    func saveClock(_ statements: Statements) throws {
        try changeState(statements) { $0.clock = clock.mark }
    }
}
