import NotifyLog

/// The passes of retention over the segments: the one that is under way, when the next one is due, and how the last one
/// ended.
struct RetentionPasses: ~Copyable {
    /// When the next pass is due.
    var pace = RetentionPace()
    /// The pass that is under way.
    private var survey: RetentionSurvey?
    /// `StoredSubscriptions.creations` as the pass knows it.
    private var creations = 0
    /// The bytes that the subscriptions of each user near the limit hold back, as of the last pass.
    private(set) var backlogs: [UInt32: UInt64] = [:]
    /// The reason why the last pass failed; nil if the last pass succeeded.
    private var failure: StorageFailure?
    /// The log's time from which clients can use its subscriptions: the log was opened, or the process continued after
    /// a standstill.
    private var opened = Duration.zero
    /// The log's time at which the store last checked whether a pass is due.
    private var lastLook: Duration?

    /// The store checks for work at intervals. If the time since the last check exceeds the interval by more than this,
    /// the process stood still.
    private static let standstill = Duration.seconds(10)

    // MARK: The pass

    var isUnderWay: Bool { survey != nil }

    mutating func begin(_ survey: RetentionSurvey, creations: Int) {
        self.survey = survey
        self.creations = creations
    }

    /// Takes out the survey of the pass, so that changing it makes no copy; nil if no pass is under way. If messages
    /// that were read may be unread again, the survey forgets its knowledge of subscriptions.
    mutating func takeSurvey(creations: Int) -> RetentionSurvey? {
        guard var survey = survey.take() else { return nil }
        if self.creations != creations {
            self.creations = creations
            survey.subscriptionsChanged()
        }
        return survey
    }

    mutating func resume(_ survey: RetentionSurvey) { self.survey = survey }

    /// Ends the pass, and requests another one, because the rules have changed.
    mutating func restart() {
        survey = nil
        pace.request()
    }

    /// Notes that the open segment was closed. The pass has not examined its entries.
    mutating func closed(_ segment: Segment, _ entries: [SegmentEntry], _ names: borrowing NameTable) {
        if var survey = survey.take() {
            survey.refers(to: entries, names)
            self.survey = survey
        }
        pace.closed(messages: segment.messages)
    }

    // MARK: Its end

    /// - Parameter limit: The most bytes that a user's subscriptions may hold back.
    /// - Returns: Whether the backlogs of users near the limit have changed.
    mutating func noteBacklogs(_ all: [UInt32: UInt64], limit: UInt64) -> Bool {
        let found = all.filter { $0.value >= limit / 2 }
        defer { backlogs = found }
        return found != backlogs
    }

    /// Notes that the pass has succeeded.
    ///
    /// - Returns: Whether the pass before it had failed.
    mutating func succeeded() -> Bool {
        defer { failure = nil }
        return failure != nil
    }

    /// Notes that the pass has failed.
    ///
    /// - Returns: Whether the failure differs from that of the last pass.
    mutating func failed(_ failure: StorageFailure, at now: Duration, interval: Duration) -> Bool {
        pace.failed(at: now, interval: interval)
        defer { self.failure = failure }
        return failure != self.failure
    }

    // MARK: Grace

    /// Notes that the log was opened.
    mutating func noteOpened(at now: Duration) { opened = now }

    /// Notes that the store checks whether a pass is due. After a standstill, in which no client could use its
    /// subscriptions, the period of grace of a start begins again.
    mutating func noteLook(at now: Duration, interval: Duration) {
        if let lastLook, now - lastLook > interval + Self.standstill { opened = now }
        lastLook = now
    }

    /// The earliest time at which subscriptions expire.
    func earliestExpiry(grace: Duration) -> Duration { opened + grace }
}

extension RetentionSurvey {
    /// Notes that the log has messages of the names of these entries.
    mutating func refers(to entries: [SegmentEntry], _ names: borrowing NameTable) {
        for entry in entries {
            if let name = names.number(ofID: entry.name) { refers(to: name) }
        }
    }
}
