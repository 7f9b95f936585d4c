import NIOCore
import NotifyLog
import NotifyWire
import Synchronization

/// A store that keeps commits, searches and repairs until a test completes them.
final class ManualStore: LogStore {
    private struct Requests {
        var commits: [(batch: CommitBatch, completion: @Sendable (CommitOutcome) -> Void)] = []
        var searches: [(microseconds: UInt64, answer: @Sendable (StoreAnswer) -> Void)] = []
        var repairs: [(continuation: LogContinuation, completion: @Sendable (LogRepair) -> Void)] = []
        var committed: [CommitBatch] = []
        var usedBelow: UInt64 = 0
        var retentions: [RetentionPolicy] = []
    }

    private let requests = Mutex(Requests())

    func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void) {
        requests.withLock { $0.commits.append((batch, completion)) }
    }

    /// Requests for pages get no answer.
    func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void) {}

    /// The store has no copies.
    func readRedeliveries(_ request: RedeliveryRequest, completion: @escaping @Sendable (RedeliveryPage) -> Void) {
        completion(
            RedeliveryPage(
                subscription: request.subscription,
                result: .success(.init(block: LogBlock(), reasons: [], missing: request.sequences)),
                statistics: StoreStatistics()))
    }

    /// Keeps requests for the sequence of a time. Answers other work at once: the log is empty and sound. Requests for
    /// backups get no answer.
    func perform(_ work: StoreWork, answer: @escaping @Sendable (StoreAnswer) -> Void) {
        switch work {
        case .findSequence(let microseconds): requests.withLock { $0.searches.append((microseconds, answer)) }
        case .summarize: answer(.summarized(LogSummary()))
        case .purge: answer(.purged(PurgeResult()))
        case .check: answer(.checked(LogFindings()))
        case .measureBacklogs: answer(.backlogs([:]))
        case .beginBackup, .readBackup, .endBackup: break
        }
    }

    /// The times whose sequences were requested.
    var searches: [UInt64] { requests.withLock { $0.searches.map(\.microseconds) } }

    /// Answers the oldest request for the sequence of a time.
    func answerSearch(_ result: Result<UInt64, StorageFailure>) {
        requests.withLock { $0.searches.isEmpty ? nil : $0.searches.removeFirst() }?
            .answer(StoreAnswer(result, as: StoreAnswer.found))
    }

    /// The store deletes nothing by itself.
    func setDeletionHandler(_ handler: @escaping @Sendable (Deletion) -> Void) {}

    func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void) {
        requests.withLock { $0.repairs.append((continuation, completion)) }
    }

    func setPolicy(_ policy: AccessPolicy) {}

    func setRetention(_ policy: RetentionPolicy) {
        requests.withLock { $0.retentions.append(policy) }
    }

    /// The retention policies that were set, in order.
    var retentions: [RetentionPolicy] { requests.withLock { $0.retentions } }

    /// The continuations of the requested repairs.
    var repairs: [LogContinuation] { requests.withLock { $0.repairs.map(\.continuation) } }

    /// Answers the oldest repair.
    func answerRepair(_ repair: LogRepair) {
        requests.withLock { $0.repairs.isEmpty ? nil : $0.repairs.removeFirst() }?.completion(repair)
    }

    func sequencesUsed(below next: UInt64) {
        requests.withLock { $0.usedBelow = next }
    }

    var usedBelow: UInt64 { requests.withLock { $0.usedBelow } }
    var commitCount: Int { requests.withLock { $0.commits.count } }
    /// The batches whose commits succeeded.
    var committed: [CommitBatch] { requests.withLock { $0.committed } }

    /// Answers the oldest commit. Returns false if no commit is pending.
    @discardableResult
    func answerCommit(_ failure: StorageFailure? = nil) -> Bool {
        let next = requests.withLock { requests in
            let next = requests.commits.isEmpty ? nil : requests.commits.removeFirst()
            if let next, failure == nil { requests.committed.append(next.batch) }
            return next
        }
        guard let (batch, completion) = next else { return false }
        let result: Result<Void, StorageFailure> = failure.map { .failure($0) } ?? .success(())
        completion(CommitOutcome(batchID: batch.id, result: result, statistics: StoreStatistics()))
        return true
    }
}
