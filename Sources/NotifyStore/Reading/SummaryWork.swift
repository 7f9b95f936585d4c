import Dispatch
import NotifyLog

/// Sums up the messages of each name.
final class SummaryWork: SlicedWork {
    typealias Completion = @Sendable (Result<LogSummary, StorageFailure>) -> Void

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
            let maximumNames = survey.request.maximumNames
            self.survey = survey
            guard let totals else { return true }
            finish(totals, maximumNames: maximumNames)
        } catch {
            completion(.failure(current.failure(error)))
        }
        return false
    }

    /// Sorts the totals of the names on another queue: commits must not wait until a million names are sorted.
    private func finish(_ totals: [(name: UInt32, totals: LogSummary.Totals)], maximumNames: Int) {
        let (current, completion) = (current, completion)
        DispatchQueue.global(qos: .utility).async {
            let sorted = totals.sorted { ($0.totals.bytes, $1.name) > ($1.totals.bytes, $0.name) }
            let rest = sorted.dropFirst(maximumNames)
            let others = rest.isEmpty ? nil : rest.reduce(into: LogSummary.Totals()) { $0.add($1.totals) }
            current.slices.queue.add {
                let summary = current.log?.summary(sorted.prefix(maximumNames), others: others)
                completion(.success(summary ?? LogSummary()))
            }
        }
    }

    func releaseLog() { survey = nil }
}

extension CurrentLog {
    func summarize(_ request: SummaryRequest, _ completion: @escaping SummaryWork.Completion) {
        do throws(StorageFailure) {
            slices.add(SummaryWork(self, try openLog().beginSummary(request), completion))
        } catch {
            completion(.failure(error))
        }
    }
}
