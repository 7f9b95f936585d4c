import NIOCore
import NotifyLog
import NotifyStore
import NotifyWire

/// The work of the store, each kind with an answer of its own type.
extension Store {
    func findSequence(
        atOrAfter microseconds: UInt64, completion: @escaping @Sendable (Result<UInt64, StorageFailure>) -> Void
    ) {
        perform(.findSequence(atOrAfter: microseconds), completion) {
            if case .found(let found) = $0 { found } else { nil }
        }
    }

    func summarize(
        _ request: SummaryRequest, completion: @escaping @Sendable (Result<LogSummary, StorageFailure>) -> Void
    ) {
        perform(.summarize(request), completion) { if case .summarized(let summary) = $0 { summary } else { nil } }
    }

    func purge(
        _ request: PurgeRequest, completion: @escaping @Sendable (Result<PurgeResult, StorageFailure>) -> Void
    ) {
        perform(.purge(request), completion) { if case .purged(let result) = $0 { result } else { nil } }
    }

    func checkLog(
        progress: @escaping @Sendable (Int) -> Void, completion: @escaping @Sendable (LogFindings) -> Void
    ) {
        perform(.check) { answer in
            switch answer {
            case .checkAdvanced(let percent): progress(percent)
            case .checked(let findings): completion(findings)
            default: preconditionFailure("\(answer)")
            }
        }
    }

    func measureBacklogs(
        under policy: AccessPolicy, completion: @escaping @Sendable ([DurableID: Backlog]) -> Void
    ) {
        perform(.measureBacklogs(under: policy)) { answer in
            guard case .backlogs(let backlogs) = answer else { preconditionFailure("\(answer)") }
            completion(backlogs)
        }
    }

    func beginBackup(target: FileLocation, completion: @escaping @Sendable (Result<UInt64, WireError>) -> Void) {
        perform(.beginBackup(target: target)) { answer in
            guard case .backupMade(let result) = answer else { preconditionFailure("\(answer)") }
            completion(result)
        }
    }

    func readBackup(
        from offset: UInt64, maximumBytes: Int,
        completion: @escaping @Sendable (Result<ByteBuffer, WireError>) -> Void
    ) {
        perform(.readBackup(from: offset, maximumBytes: maximumBytes)) { answer in
            guard case .backupRead(let result) = answer else { preconditionFailure("\(answer)") }
            completion(result)
        }
    }

    func endBackup() {
        perform(.endBackup) { preconditionFailure("\($0)") }
    }

    private func perform<Value>(
        _ work: StoreWork, _ completion: @escaping @Sendable (Result<Value, StorageFailure>) -> Void,
        value: @escaping @Sendable (StoreAnswer) -> Value?
    ) {
        perform(work) { answer in
            if case .failed(let failure) = answer { return completion(.failure(failure)) }
            guard let value = value(answer) else { preconditionFailure("\(answer)") }
            completion(.success(value))
        }
    }
}
