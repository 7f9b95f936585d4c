import NotifyLog

/// Sums up the messages of each name.
final class SummaryWork: SlicedWork {
    /// Receives the totals of each id of a name.
    typealias Completion = (Result<[(name: UInt32, totals: LogSummary.Totals)], StorageFailure>) -> Void

    private let current: CurrentLog
    /// Nil once the log is closed.
    private var survey: LogSummarySurvey?
    private let completion: Completion

    init(_ current: CurrentLog, _ survey: LogSummarySurvey, _ completion: @escaping Completion) {
        self.current = current
        self.survey = survey
        self.completion = completion
    }

    func advance(until end: ContinuousClock.Instant) -> Bool {
        do {
            let log = try current.openLog()
            // Taken out of the property, so that changing it makes no copy.
            guard var survey = survey.take() else { throw StorageFailure.logReplaced }
            let totals = try log.continueSummary(&survey, until: end)
            self.survey = survey
            guard let totals else { return true }
            completion(.success(totals))
        } catch {
            completion(.failure(current.failure(error)))
        }
        return false
    }

    func releaseLog() { survey = nil }
}

extension CurrentLog {
    func beginSummary(_ request: SummaryRequest, _ completion: @escaping SummaryWork.Completion) {
        do throws(StorageFailure) {
            slices.add(SummaryWork(self, try openLog().beginSummary(request), completion))
        } catch {
            completion(.failure(error))
        }
    }
}
