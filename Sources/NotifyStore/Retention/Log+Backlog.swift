import NotifyLog
import NotifyWire

/// Reducing backlogs that exceed the limit. The backlog of a user consists of the messages that the user's durable
/// subscriptions hold back.
extension Log {
    /// Makes the subscriptions of users with too large a backlog give up the next segment that they have not read, from
    /// the oldest to the newest. So the subscription that is furthest behind loses messages first. The messages stay in
    /// the log, as history or because other subscriptions hold them back.
    ///
    /// - Returns: Whether segments remain.
    func releaseBacklog(_ survey: inout RetentionSurvey) throws -> Bool {
        guard let end = survey.releases.values.max(), let row = try nextRelease(survey), row.segment.first <= end else {
            return false
        }
        survey.releasedFrom = row.segment.first
        let releases = survey.releases
        let entries = row.withEntries { Array($0) }
        let unread = unreadEntries(of: entries, through: row.segment.last).compactMap { entry, behind in
            let behind = behind.filter { releases[$0.uid] ?? 0 >= row.segment.last }
            return behind.isEmpty ? nil : (entry: entry, behind: behind)
        }
        if !unread.isEmpty { try release(unread, in: row) }
        return true
    }

    private func nextRelease(_ survey: RetentionSurvey) throws -> SegmentRow? {
        guard let start = survey.releasedFrom ?? subscriptions.lowestCursor(of: survey.releases.keys) else {
            return nil
        }
        let rows = try openStatements().segments.from
        defer { rows.reset() }
        try rows.bind(1, start)
        while try rows.step() {
            let row = try segment(in: rows)
            if survey.releasedFrom.map({ row.segment.first > $0 }) ?? true { return row }
        }
        return nil
    }

    /// Moves the cursors of subscriptions to the end of a segment, and adds their unacknowledged messages to their
    /// losses.
    private func release(
        _ unread: [(entry: SegmentEntry, behind: [StoredSubscriptions.Subscription])], in row: SegmentRow
    ) throws {
        var result = Deletion()
        let released = Dictionary(unread.flatMap(\.behind).map { ($0.id, $0) }) { first, _ in first }
        try inTransaction(.normal) { statements in
            let sequences = try sequences(of: unread.map(\.entry), in: row, statements)
            for (entry, behind) in unread { addLosses(of: entry, sequences[entry.key] ?? [], to: behind, &result) }
            for subscription in released.values {
                let progress = subscription.progress.raised(to: row.segment.last)
                try update(subscription.id, progress, used: subscription.used, statements)
            }
            try write(result.losses, statements)
        }
        for (id, subscription) in released {
            subscriptions.release(id, through: row.segment.last)
            result.began(subscription.progress.generation, of: id)
            result.released[id] = row.segment.last
        }
        report.deletion.add(result)
    }
}
