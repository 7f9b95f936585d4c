import NotifyLog

/// Counts the unacknowledged messages of durable subscriptions. Several requests can wait for the same count.
final class BacklogWork: SlicedWork {
    typealias Completion = @Sendable ([DurableID: Backlog]) -> Void

    private let current: CurrentLog
    /// Nil until the first slice, and after the log was closed. The next slice begins the count again.
    private var survey: BacklogSurvey?
    /// The number of edits of subscriptions when the count began. After a further edit, the count begins again.
    private var edits = 0
    private var policy: AccessPolicy
    private var completions: [Completion]

    init(_ current: CurrentLog, under policy: AccessPolicy, _ completion: @escaping Completion) {
        self.current = current
        self.policy = policy
        completions = [completion]
    }

    /// Adds a request, which gets the result of the count that is under way.
    ///
    /// - Parameter policy: The access policy, used if the count begins again.
    func join(under policy: AccessPolicy, _ completion: @escaping Completion) {
        self.policy = policy
        completions.append(completion)
    }

    func advance(until end: ContinuousClock.Instant) -> Bool {
        var backlogs: [DurableID: Backlog] = [:]
        do {
            if let log = current.log {
                guard let found = try count(log, until: end) else { return true }
                backlogs = found
            }
        } catch {
            _ = current.failure(error)
        }
        for completion in completions { completion(backlogs) }
        return false
    }

    private func count(_ log: Log, until end: ContinuousClock.Instant) throws -> [DurableID: Backlog]? {
        if edits != log.subscriptions.edits { survey = nil }
        edits = log.subscriptions.edits
        // Taken out of the property, so that changing it makes no copy.
        var survey = survey.take() ?? log.beginBacklogs(under: policy)
        let backlogs = try log.continueBacklogs(&survey, until: end)
        self.survey = survey
        return backlogs
    }

    func releaseLog() { survey = nil }
}

extension CurrentLog {
    /// Counts, for each durable subscription, the unacknowledged messages that at least one of its identities
    /// (`DurableRecord.owners`) may receive.
    func measureBacklogs(under policy: AccessPolicy, _ completion: @escaping BacklogWork.Completion) {
        if let work = slices.active(BacklogWork.self) {
            work.join(under: policy, completion)
        } else {
            slices.add(BacklogWork(self, under: policy, completion))
        }
    }
}
