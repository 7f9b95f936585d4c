import NotifyLog
import NotifyWire

/// Deletes the messages that the rules no longer keep, in slices between commits.
extension Log {
    /// The most names that one transaction removes.
    private static let namesPerTransaction = 256
    /// The most expired subscriptions that one pass reports.
    private static let expiriesPerPass = 256

    /// Continues the work of retention until a time. The last transaction may take longer.
    ///
    /// - Returns: Whether work remains.
    func maintain(until end: ContinuousClock.Instant) throws -> Bool {
        guard isSound else { return false }
        let start = ContinuousClock.now
        defer { retention.pace.worked(ContinuousClock.now - start) }
        try beginSurvey()
        var remains = true
        repeat {
            if retention.isUnderWay { try continueSurvey() } else { remains = try returnSpace() }
            disk.checkpointIfDue()
        } while remains && ContinuousClock.now < end
        reportSizes(isFinal: !remains)
        return remains
    }

    /// Takes the deletions since the last call; nil if there are none.
    func takeDeletion() -> Deletion? { report.take(with: statistics) }

    /// Notes that the store checks whether a pass is due.
    func noteLook() { retention.noteLook(at: clock.now, interval: options.retentionInterval) }

    /// Whether there is work of retention: a pass over the segments, or space to return.
    var isMaintenanceDue: Bool { isSurveyDue || (isSound && disk.isTooLarge()) }

    /// Whether a pass over the segments must begin.
    var isSurveyDue: Bool { retention.pace.isDue(clock.now) || contents.openSegment.isOld(now: clock.now, options) }

    /// Begins a pass over the segments, if none is under way and one is due.
    private func beginSurvey() throws {
        guard !retention.isUnderWay, isSurveyDue else { return }
        let now = clock.now
        replaceStaleDeletions()
        if contents.openSegment.isOld(now: now, options) { try closeOldSegment() }
        retention.pace.began()
        var survey = RetentionSurvey(
            options.retention, now: now, nextName: contents.names.nextID, copyBytes: subscriptions.copyBytes)
        let last = contents.openSegment.segment.last
        for entry in contents.openSegment.entries {
            if let name = contents.names.number(ofID: entry.name) {
                survey.add(entry, state(of: name, in: &survey), through: last)
            }
        }
        retention.begin(survey, creations: subscriptions.creations)
    }

    /// Closes the open segment because of its age. On a full disk the segment stays open: closing it makes no room, so
    /// it must not use the reserve.
    private func closeOldSegment() throws {
        do {
            try closeOpenSegment()
        } catch {
            guard failure(error).kind == .full else { throw error }
        }
    }

    /// Closes the open segment in a transaction of its own.
    func closeOpenSegment() throws {
        contents.begin()
        do {
            try inTransaction(.normal) { try closeSegment($0) }
            contents.commit(through: persistedThrough, messages: 0)
        } catch {
            contents.rollBack()
            throw error
        }
    }

    func state(of name: NameTable.Number, in survey: inout RetentionSurvey) -> RetentionSurvey.NameState {
        survey.state(of: name) {
            contents.names.withBytes(of: name) { (options.retention.rule(for: $0), subscriptions.claims(on: $0)) }
        }
    }

    /// Performs the next step of a pass. The steps examine each segment, from the newest to the oldest, and delete from
    /// it. Then they reduce the backlogs that exceed the limit, delete copies of messages that are too old, delete
    /// history if the log is nearly full, and remove names without messages.
    private func continueSurvey() throws {
        guard var survey = retention.takeSurvey(creations: subscriptions.creations) else { return }
        if let row = try nextSegment(below: survey.below) {
            try examine(row, &survey)
            survey.below = row.segment.first
            retention.resume(survey)
        } else if try releaseBacklog(&survey) || expireCopies(&survey) || giveWay(&survey) || removeNames(&survey) {
            retention.resume(survey)
        } else {
            if let expiry = try nextCopyExpiry(survey) { survey.note(deadline: expiry) }
            ended(survey)
        }
    }

    private func ended(_ survey: RetentionSurvey) {
        noteLook()
        if retention.noteBacklogs(survey.backlogs, limit: options.retention.backlogBytes ?? .max) {
            report.deletion.statistics = statistics
        }
        var deadline = survey.deadline
        if let expiry = options.retention.subscriptionExpiry {
            let earliest = retention.earliestExpiry(grace: options.expiryGrace)
            if clock.now >= earliest {
                report.deletion.expired = subscriptions.unused(since: clock.now - expiry, limit: Self.expiriesPerPass)
            }
            if let used = subscriptions.lowestUse {
                let expires = max(used + expiry, earliest)
                deadline = deadline.map { min($0, expires) } ?? expires
            }
        }
        retention.pace.ended(at: clock.now, interval: options.retentionInterval, deadline: deadline)
        if retention.succeeded() { report.deletion.health = .works }
    }

    /// Notes a failure of the pass. A failure that differs from the last one is reported with the deletions.
    func retentionFailed(_ error: any Error) {
        let failure = failure(error)
        if retention.failed(failure, at: clock.now, interval: options.retentionInterval) {
            report.deletion.health = .failed(failure)
        }
    }

    func nextSegment(below sequence: UInt64) throws -> SegmentRow? {
        let rows = try openStatements().segments.below
        defer { rows.reset() }
        try rows.bind(1, sequence)
        return try rows.step() ? segment(in: rows) : nil
    }

    func segment(in rows: PreparedStatement) throws(StorageFailure) -> SegmentRow {
        guard let row = SegmentRow(rows) else {
            throw StorageFailure(
                kind: .damaged, message: "it has a damaged segment at \(rows.integer(0))")
        }
        return row
    }

    private func examine(_ row: SegmentRow, _ survey: inout RetentionSurvey) throws {
        let entries = row.withEntries { Array($0) }
        retention.pace.examined(entries: entries.count)
        var kept: [SegmentEntry] = []
        var deleted: [SegmentEntry] = []
        var dropped: [SegmentEntry] = []
        var unknown: [SegmentEntry] = []
        for entry in entries {
            guard let name = contents.names.number(ofID: entry.name) else {
                unknown.append(entry)
                continue
            }
            switch survey.judge(entry, state(of: name, in: &survey), in: row) {
            case .keep:
                survey.refers(to: name)
                kept.append(entry)
            case .delete: deleted.append(entry)
            case .drop:
                deleted.append(entry)
                dropped.append(entry)
            }
        }
        // Damaged messages are kept while the segment keeps other messages, or while a subscription has not seen the
        // gap in their place.
        if kept.isEmpty, subscriptions.behind(row.segment.last).isEmpty { deleted += unknown } else { kept += unknown }
        if !deleted.isEmpty { try delete(deleted, dropping: dropped, keeping: kept, from: row) }
    }

    /// Removes names whose messages have all been deleted. At most ``namesPerTransaction`` at a time.
    ///
    /// - Returns: Whether names remain to be removed.
    private func removeNames(_ survey: inout RetentionSurvey) throws -> Bool {
        survey.refers(to: contents.openSegment.entries, contents.names)
        let unused = contents.names.ids(below: survey.nextName, limit: Self.namesPerTransaction) {
            !survey.isReferred($0)
        }
        guard !unused.isEmpty else { return false }
        try inTransaction(.normal) { statements in
            for id in unused {
                try statements.names.remove.bind(1, id)
                try statements.names.remove.run()
            }
            try database.changeState(statements) { $0.nextName = UInt64(contents.names.nextID) }
        }
        for id in unused {
            guard let number = contents.names.number(ofID: id) else { continue }
            report.deletion.names.append(contents.names.withBytes(of: number) { Array($0) })
            pageCaches.forget(number)
            contents.removeName(id: id)
        }
        return unused.count == Self.namesPerTransaction
    }
}
