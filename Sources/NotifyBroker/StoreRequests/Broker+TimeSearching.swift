import NotifyLog
import NotifyWire

/// A request that continues when the store has found the first message of a time.
struct TimeSearch: StoreRequest {
    enum Purpose {
        /// To create a subscription that begins at the time.
        case subscribe(Subscribe)
        /// To move the cursor of a durable subscription to the time.
        case reset(Reset)
        /// To report the sequence.
        case find(request: UInt64)
    }

    let connection: ConnectionID
    let purpose: Purpose
    /// In microseconds since 1970.
    let time: UInt64

    var request: UInt64 {
        switch purpose {
        case .subscribe(let subscribe): subscribe.request
        case .reset(let reset): reset.request
        case .find(let request): request
        }
    }

    /// The memory of the request, in bytes.
    var byteCount: Int {
        guard case .subscribe(let subscribe) = purpose else { return 256 }
        return subscribe.patterns.reduce(256 + subscribe.object.utf8.count) { $0 + 32 + $1.utf8.count }
    }
}

/// Finding the sequence at which a time begins.
extension Broker {
    /// Makes the request wait until the store has found its start. Nothing is created before. Later requests of the
    /// connection wait until this one is answered.
    mutating func search(_ purpose: TimeSearch.Purpose, at time: UInt64, _ slot: ConnectionSlot) throws(WireError) {
        let search = TimeSearch(connection: connections[slot].id, purpose: purpose, time: time)
        try charge(search)
        scheduler.spend(FairScheduler.Cost.search)
        timeSearches.append(search)
        pause(slot, .awaitingPage)
        actions.append(.scheduleTick)
    }

    /// Asks the store for the next search, if it performs none.
    mutating func requestTimeSearch(now: BrokerTime) {
        guard let search = timeSearches.begin(now: now) else { return }
        actions.append(.store(.findSequence(atOrAfter: search.time), .request(.search)))
    }

    /// The store has found the sequence of the search, or has failed to.
    ///
    /// The request is checked again, because a subscription of this name may have been created meanwhile, and rights
    /// may have changed.
    mutating func sequenceFound(_ result: Result<UInt64, StorageFailure>, now: BrokerTime) {
        let search = timeSearches.finish()
        if case .failure(let failure) = result { storageFailed(failure, now: now) }
        guard let search else { return }
        let slot = search.connection.slot
        if case .success = result, !commits.isIdle, commits.refusal == nil, isChanging(for: search.purpose, slot) {
            // Searched again until the change is in the log, or has failed.
            scheduler.charge(FairScheduler.Cost.search, to: connections[slot].uid)
            timeSearches.append(search)
            actions.append(.scheduleTick)
            return
        }
        let (pendingBytes, spent) = (commits.pending.bytes, scheduler.spent)
        uncharge(search)
        do throws(WireError) {
            let sequence: UInt64
            switch (result, search.purpose) {
            case (.failure(let failure), .subscribe), (.failure(let failure), .reset): throw failure.wireError
            case (.failure(let failure), .find): throw failure.readError
            case (.success(let found), _): sequence = found
            }
            switch search.purpose {
            case .subscribe(var request):
                request.start = .sequence(sequence)
                try subscribe(request, slot, now: now)
            case .reset(var request):
                request.position = .sequence(sequence)
                try reset(request, slot, now: now)
            case .find(let request):
                answerFound(first: sequence, request: request, slot)
            }
        } catch {
            reject(slot, request: search.request, error, now: now)
        }
        if commits.pending.bytes != pendingBytes { chargePending(since: pendingBytes, to: slot) }
        scheduler.charge(scheduler.spent - spent, to: connections[slot].uid)
        resume(slot, .awaitingPage)
    }

    /// Drops the search of a connection that ends.
    mutating func endTimeSearch(of slot: ConnectionSlot) {
        if let search = timeSearches.remove(connections[slot].id) { uncharge(search) }
    }
}

extension LogPosition {
    /// How far a time may be ahead, in microseconds: a client may read its clock after the turn has begun.
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
