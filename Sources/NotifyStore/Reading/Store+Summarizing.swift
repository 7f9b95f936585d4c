import Dispatch
package import NotifyLog

extension Store {
    package func summarize(
        _ request: SummaryRequest, completion: @escaping @Sendable (Result<LogSummary, StorageFailure>) -> Void
    ) {
        let (current, queue) = (current, queue)
        queue.add {
            current.beginSummary(request) { result in
                switch result {
                case .failure(let failure): completion(.failure(failure))
                case .success(let totals):
                    Self.sort(totals, maximumNames: request.maximumNames, current, queue) { completion(.success($0)) }
                }
            }
        }
    }

    /// Sorts the totals of names on another queue: commits must not wait until a million names are sorted.
    private static func sort(
        _ totals: [(name: UInt32, totals: LogSummary.Totals)], maximumNames: Int, _ current: CurrentLog,
        _ queue: SerialQueue, completion: @escaping @Sendable (LogSummary) -> Void
    ) {
        DispatchQueue.global(qos: .utility).async {
            let sorted = totals.sorted { ($0.totals.bytes, $1.name) > ($1.totals.bytes, $0.name) }
            let rest = sorted.dropFirst(maximumNames)
            let others = rest.isEmpty ? nil : rest.reduce(into: LogSummary.Totals()) { $0.add($1.totals) }
            queue.add {
                completion(current.log?.summary(sorted.prefix(maximumNames), others: others) ?? LogSummary())
            }
        }
    }
}
