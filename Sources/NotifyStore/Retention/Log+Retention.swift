import NotifyLog
import NotifyWire

/// Deletes what the rules no longer keep, in slices between commits.
extension Log {
    /// The most names that one transaction removes.
    private static let namesPerTransaction = 256
    /// The most expired subscriptions that one pass reports.
    private static let expiriesPerPass = 256

    /// Works until a time, besides the last transaction that begins before it.
    ///
    /// - Returns: Whether work remains.
    func maintain(until end: ContinuousClock.Instant) throws -> Bool {
        guard damage == nil, corruption == nil, refusedBatch == nil else { return false }
        let start = ContinuousClock.now
        defer { pace.worked(ContinuousClock.now - start) }
        try beginSurvey()
        var remains = true
        repeat {
            if survey != nil { try continueSurvey() } else { remains = try returnSpace() }
            checkpointIfDue()
        } while remains && ContinuousClock.now < end
        reportSizes(isFinal: !remains)
        return remains
    }

    /// Applies a changed policy: begins a new pass with its rules.
    func retentionChanged() {
        survey = nil
        pace.request()
    }

    /// What was deleted and not yet reported.
    var deletion: Deletion {
        get { unreportedDeletion ?? Deletion() }
        _modify {
            var deletion = unreportedDeletion.take() ?? Deletion()
            defer { unreportedDeletion = deletion }
            yield &deletion
        }
    }

    /// Takes what was deleted since the last call; nil if nothing was.
    func takeDeletion() -> Deletion? {
        guard unreportedDeletion != nil, !deletion.isEmpty else { return nil }
        deletion.statistics = statistics
        return unreportedDeletion.take()
    }

    /// The store looks for work at intervals. If more than such an interval and this time have passed since the last
    /// look, the process stood still.
    private static let standstill = Duration.seconds(10)

    /// Notes that the store looks for work. After a standstill, in which no client could use its subscriptions, the
    /// grace of a start begins again.
    func noteLook() {
        let now = clock.now
        if let lastLook, now - lastLook > options.retentionInterval + Self.standstill { opened = now }
        lastLook = now
    }

    /// Whether there is work: a pass over the segments, or space to return.
    var isMaintenanceDue: Bool { isSurveyDue || isSpaceDue }

    /// Whether a pass over the segments must begin.
    var isSurveyDue: Bool { pace.isDue(clock.now) || openSegment.isOld(now: clock.now, options) }

    /// Begins a pass over the segments, if none is under way and one is due.
    private func beginSurvey() throws {
        guard survey == nil, isSurveyDue else { return }
        let now = clock.now
        replaceStaleDeletions()
        if openSegment.isOld(now: now, options) { try closeOldSegment() }
        pace.began()
        var survey = RetentionSurvey(options.retention, now: now, nextName: names.nextID, copyBytes: copyBytes)
        let last = openSegment.segment.last
        for entry in openSegment.entries {
            if let name = names.number(ofID: entry.name) {
                survey.add(entry, state(of: name, in: &survey), through: last)
            }
        }
        surveyedCreations = subscriptions.creations
        self.survey = survey
    }

    /// Closes the open segment because of its age. On a full disk it stays open, because this makes no room, and so
    /// must not use the reserve.
    private func closeOldSegment() throws {
        do {
            try closeOpenSegment()
        } catch {
            guard failure(error).kind == .full else { throw error }
        }
    }

    /// Closes the open segment in a transaction of its own.
    func closeOpenSegment() throws {
        openSegment.begin()
        do {
            try inTransaction(.normal) { try closeSegment($0) }
            openSegment.commit()
        } catch {
            rollBackOpenSegment()
            throw error
        }
    }

    func state(of name: NameTable.Number, in survey: inout RetentionSurvey) -> RetentionSurvey.NameState {
        survey.state(of: name) {
            names.withBytes(of: name) { (options.retention.rule(for: $0), subscriptions.claims(on: $0)) }
        }
    }

    /// Examines the next segment, and deletes from it. After the oldest one, reduces the backlogs that exceed the
    /// limit, deletes copies of messages that are too old, deletes history if the log is nearly full, and removes names
    /// without messages.
    private func continueSurvey() throws {
        // Taken out of the log, so that changing it makes no copy.
        guard var survey = survey.take() else { return }
        if surveyedCreations != subscriptions.creations {
            surveyedCreations = subscriptions.creations
            survey.subscriptionsChanged()
        }
        if let row = try nextSegment(below: survey.below) {
            try examine(row, &survey)
            survey.below = row.segment.first
            self.survey = survey
        } else if try releaseBacklog(&survey) {
            self.survey = survey
        } else if try expireCopies(&survey) {
            self.survey = survey
        } else if try giveWay(&survey) {
            self.survey = survey
        } else if try removeNames(&survey) {
            self.survey = survey
        } else {
            if let expiry = try nextCopyExpiry(survey) { survey.note(deadline: expiry) }
            ended(survey)
        }
    }

    private func ended(_ survey: RetentionSurvey) {
        noteLook()
        let limit = options.retention.backlogBytes ?? .max
        let backlogs = survey.backlogs.filter { $0.value >= limit / 2 }
        if backlogs != statistics.backlogs {
            statistics.backlogs = backlogs
            deletion.statistics = statistics
        }
        var deadline = survey.deadline
        if let expiry = options.retention.subscriptionExpiry {
            let earliest = opened + options.expiryGrace
            if clock.now >= earliest {
                deletion.expired = subscriptions.unused(since: clock.now - expiry, limit: Self.expiriesPerPass)
            }
            if let used = subscriptions.lowestUse {
                let expires = max(used + expiry, earliest)
                deadline = deadline.map { min($0, expires) } ?? expires
            }
        }
        pace.ended(at: clock.now, interval: options.retentionInterval, deadline: deadline)
        if retentionFailure != nil { deletion.health = .works }
        retentionFailure = nil
    }

    /// Notes a failure, which is reported with the deletions if it differs from the last one.
    func retentionFailed(_ error: any Error) {
        pace.failed(at: clock.now, interval: options.retentionInterval)
        let failure = failure(error)
        guard failure != retentionFailure else { return }
        retentionFailure = failure
        deletion.health = .failed(failure)
    }

    func nextSegment(below sequence: UInt64) throws -> SegmentRow? {
        let rows = try openStatements().segmentBelow
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
        pace.examined(entries: entries.count)
        var kept: [SegmentEntry] = []
        var deleted: [SegmentEntry] = []
        var dropped: [SegmentEntry] = []
        var unknown: [SegmentEntry] = []
        for entry in entries {
            guard let name = names.number(ofID: entry.name) else {
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
        // Damaged messages are kept with others, and until every subscription has seen the gap in their place.
        if kept.isEmpty, subscriptions.behind(row.segment.last).isEmpty { deleted += unknown } else { kept += unknown }
        if !deleted.isEmpty { try delete(deleted, dropping: dropped, keeping: kept, from: row) }
    }

    /// Removes names whose messages have all been deleted. At most ``namesPerTransaction`` at a time.
    ///
    /// - Returns: Whether names remain to be removed.
    private func removeNames(_ survey: inout RetentionSurvey) throws -> Bool {
        referToOpenNames(&survey)
        let unused = names.ids(below: survey.nextName, limit: Self.namesPerTransaction) { !survey.isReferred($0) }
        guard !unused.isEmpty else { return false }
        try inTransaction(.normal) { statements in
            for id in unused {
                try statements.removeName.bind(1, id)
                try statements.removeName.run()
            }
            try changeState(statements) { $0.nextName = UInt64(names.nextID) }
        }
        for id in unused {
            guard let number = names.number(ofID: id) else { continue }
            deletion.names.append(names.withBytes(of: number) { Array($0) })
            for subscription in matchCaches.keys { matchCaches[subscription]?.forget(number) }
            names.remove(id: id)
        }
        return unused.count == Self.namesPerTransaction
    }
}
