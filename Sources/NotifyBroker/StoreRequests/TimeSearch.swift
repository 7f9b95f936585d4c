import NotifyLog
import NotifyWire

/// A request that waits until the store has found the first message since a time.
struct TimeSearch: StoreTask {
    enum Purpose {
        /// To create a subscription that begins at the time.
        case subscribe(Subscribe)
        /// To move the cursor of a durable subscription to the time.
        case reset(Reset)
        /// To report the sequence.
        case find
    }

    static let kind = StoreRequestKind.search
    static let refusal = "not searched"
    static let holdsConnection = true
    static let isShort = true

    let purpose: Purpose
    /// The time to search for, in microseconds since 1970.
    let time: UInt64

    var byteCount: Int {
        guard case .subscribe(let subscribe) = purpose else { return 256 }
        return subscribe.patterns.reduce(256 + subscribe.object.utf8.count) { $0 + 32 + $1.utf8.count }
    }

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) -> StoreTaskStart {
        .asks(.findSequence(atOrAfter: time))
    }

    /// Processes the request from the beginning, because a subscription of this name may have been created meanwhile,
    /// and rights may have changed.
    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress {
        guard let request else { return .ended }
        switch answer {
        case .found where broker.mustSearchAgain(for: purpose, request.connection.slot): return .again
        case .found(let sequence): broker.searched(.success(sequence), for: purpose, request, now: now)
        case .failed(let failure): broker.searched(.failure(failure), for: purpose, request, now: now)
        default: unexpected(answer)
        }
        return .ended
    }
}

/// Finding the sequence at which a time begins.
extension Broker {
    /// Makes the request wait until the store has found the sequence of its time. Until then, nothing is created or
    /// changed.
    mutating func search(
        _ purpose: TimeSearch.Purpose, at time: UInt64, request: UInt64, _ slot: ConnectionSlot
    ) throws(WireError) {
        try self.request(TimeSearch(purpose: purpose, time: time), request, slot)
        scheduler.spend(FairScheduler.Cost.search)
    }

    /// Whether the durable subscription is being changed. If so, the time is searched again until the change is
    /// committed or has failed.
    fileprivate mutating func mustSearchAgain(for purpose: TimeSearch.Purpose, _ slot: ConnectionSlot) -> Bool {
        guard !commits.isIdle, commits.refusal == nil, isChanging(for: purpose, slot) else { return false }
        scheduler.charge(FairScheduler.Cost.search, to: connections[slot].uid)
        return true
    }

    fileprivate mutating func searched(
        _ result: Result<UInt64, StorageFailure>, for purpose: TimeSearch.Purpose, _ request: RequestID,
        now: BrokerTime
    ) {
        let slot = request.connection.slot
        let (pendingBytes, spent) = (commits.pending.bytes, scheduler.spent)
        do throws(WireError) {
            let sequence: UInt64
            switch (result, purpose) {
            case (.failure(let failure), .subscribe), (.failure(let failure), .reset): throw failure.wireError
            case (.failure(let failure), .find): throw failure.readError
            case (.success(let found), _): sequence = found
            }
            switch purpose {
            case .subscribe(var request):
                request.start = .sequence(sequence)
                try subscribe(request, slot, now: now)
            case .reset(var request):
                request.position = .sequence(sequence)
                try reset(request, slot, now: now)
            case .find: answerFound(first: sequence, request: request.number, slot)
            }
        } catch {
            reject(slot, request: request.number, error, now: now)
        }
        if commits.pending.bytes != pendingBytes { chargePending(since: pendingBytes, to: slot) }
        scheduler.charge(scheduler.spent - spent, to: connections[slot].uid)
    }
}

extension LogPosition {
    /// The maximum distance of a time into the future, in microseconds. A client may read its clock after the turn has
    /// begun.
    static let toleratedMicroseconds: UInt64 = 5_000_000

    /// The time at which the position begins, in microseconds since 1970; nil if it does not begin at a time, or if
    /// the time has not passed yet.
    ///
    /// - Throws: `invalidArgument` for a time in the future, which is probably a mistake.
    func pastTime(at now: BrokerTime) throws(WireError) -> UInt64? {
        switch self {
        case .now, .oldest, .sequence: return nil
        case .age(let age): return now.wallMicroseconds - min(age, now.wallMicroseconds)
        case .time(let time):
            guard time <= now.wallMicroseconds + Self.toleratedMicroseconds else {
                throw WireError(.invalidArgument, "the time is in the future; the end of the log is 'now'")
            }
            return time <= now.wallMicroseconds ? time : nil
        }
    }
}
