import NotifyLog

/// Deletes stored messages on request.
final class PurgeWork: SlicedWork {
    typealias Completion = @Sendable (Result<PurgeResult, StorageFailure>) -> Void

    private let current: CurrentLog
    /// Nil once the log is closed.
    private var survey: PurgeSurvey?
    private let completion: Completion

    init(_ current: CurrentLog, _ survey: PurgeSurvey, _ completion: @escaping Completion) {
        self.current = current
        self.survey = survey
        self.completion = completion
    }

    func advance(until end: ContinuousClock.Instant) -> Bool {
        do {
            let remains = try purge(until: end)
            current.reportDeletion()
            if remains { return true }
            completion(.success(survey?.result ?? PurgeResult()))
            // A pass of retention removes names without messages, and returns space.
            current.beginMaintaining()
        } catch {
            current.reportDeletion()
            completion(.failure(current.failure(error)))
        }
        return false
    }

    private func purge(until end: ContinuousClock.Instant) throws -> Bool {
        let log = try current.openLog()
        repeat {
            // Taken out of the property, so that changing it makes no copy.
            guard var survey = survey.take() else { throw StorageFailure.logReplaced }
            let remains = try log.purgeNext(&survey)
            self.survey = survey
            guard remains else { return false }
        } while ContinuousClock.now < end
        return true
    }

    func releaseLog() { survey = nil }
}

extension CurrentLog {
    /// Deletes messages, in slices.
    func purge(_ request: PurgeRequest, _ completion: @escaping PurgeWork.Completion) {
        // Reports earlier deletions separately, because they do not belong to the purge.
        reportDeletion()
        do {
            slices.add(PurgeWork(self, try openLog().beginPurge(request), completion))
        } catch {
            completion(.failure(failure(error)))
        }
    }
}

extension StorageFailure {
    /// The failure of work whose log was replaced.
    static var logReplaced: StorageFailure {
        StorageFailure(kind: .inputOutput, message: "the log was replaced meanwhile")
    }
}
