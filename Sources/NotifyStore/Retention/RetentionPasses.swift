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
    /// The bytes that the subscriptions of each user hold back, as of the last pass, of users near the limit.
    private(set) var backlogs: [UInt32: UInt64] = [:]
    /// The reason why the last pass failed; nil if it did not.
    private var failure: StorageFailure?
    /// The log's time at which it was opened with its subscriptions, or at which the process continued after it had
    /// stood still: from then on, clients can use the subscriptions.
    private var opened = Duration.zero
    /// The log's time at which the store last looked for work.
    private var lastLook: Duration?

    /// The store looks for work at intervals. If more than such an interval and this time have passed since the last
    /// look, the process stood still.
    private static let standstill = Duration.seconds(10)

    // MARK: The pass

    var isUnderWay: Bool { survey != nil }

    mutating func begin(_ survey: RetentionSurvey, creations: Int) {
        self.survey = survey
        self.creations = creations
    }

    /// Takes the survey of the pass out, so that changing it makes no copy; nil if none is under way. The survey forgets
    /// the subscriptions that it knows if messages that were read may be unread.
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

    /// Notes that the open segment is closed, whose entries the pass has not examined.
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
    /// - Returns: Whether the last one had failed.
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

    /// Notes that the store looks for work. After a standstill, in which no client could use its subscriptions, the
    /// grace of a start begins again.
    mutating func noteLook(at now: Duration, interval: Duration) {
        if let lastLook, now - lastLook > interval + Self.standstill { opened = now }
        lastLook = now
    }

    /// The earliest time at which subscriptions expire.
    func earliestExpiry(grace: Duration) -> Duration { opened + grace }
}

extension RetentionSurvey {
    /// Notes that the names of entries have messages.
    mutating func refers(to entries: [SegmentEntry], _ names: borrowing NameTable) {
        for entry in entries {
            if let name = names.number(ofID: entry.name) { refers(to: name) }
        }
    }
}
