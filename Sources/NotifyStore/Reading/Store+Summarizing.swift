import Dispatch
package import NotifyLog

extension Store {
    package func summarize(
        _ request: SummaryRequest, completion: @escaping @Sendable (Result<LogSummary, StorageFailure>) -> Void
    ) {
        let (current, queue) = (current, queue)
        queue.add {
            do throws(StorageFailure) {
                try current.openLog().beginSummary(request)
            } catch {
                return completion(.failure(error))
            }
            Self.continueSummary(current, queue, maximumNames: request.maximumNames, completion)
        }
    }

    private static func continueSummary(
        _ current: CurrentLog, _ queue: SerialQueue, maximumNames: Int,
        _ completion: @escaping @Sendable (Result<LogSummary, StorageFailure>) -> Void
    ) {
        do {
            let log = try current.openLog()
            guard let totals = try log.continueSummary() else {
                queue.add { continueSummary(current, queue, maximumNames: maximumNames, completion) }
                return
            }
            // Commits must not wait until a million names are sorted.
            DispatchQueue.global(qos: .utility).async {
                let sorted = totals.sorted { ($0.totals.bytes, $1.name) > ($1.totals.bytes, $0.name) }
                let rest = sorted.dropFirst(maximumNames)
                let others = rest.isEmpty ? nil : rest.reduce(into: LogSummary.Totals()) { $0.add($1.totals) }
                queue.add {
                    let summary = current.log?.summary(sorted.prefix(maximumNames), others: others)
                    completion(.success(summary ?? LogSummary()))
                }
            }
        } catch {
            completion(.failure(current.failure(error)))
        }
    }
}
