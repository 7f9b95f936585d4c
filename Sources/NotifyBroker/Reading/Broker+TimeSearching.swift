package import NotifyLog
import NotifyWire

/// Finding the sequence at which a time begins.
extension Broker {
    /// Makes the request wait until the store has found its start. Nothing is created before. Later requests of the
    /// connection wait until this one is answered.
    mutating func search(_ purpose: TimeSearch.Purpose, at time: UInt64, _ slot: ConnectionSlot) throws(WireError) {
        let search = TimeSearch(connection: connections[slot].id, purpose: purpose, time: time)
        let uid = connections[slot].uid
        try ledger.checkRoom(for: search.byteCount, uid: uid)
        ledger.change(.pendingBytes, by: search.byteCount, uid: uid)
        scheduler.spend(FairScheduler.Cost.search)
        timeSearches.append(search)
        pause(slot, .awaitingPage)
        actions.append(.scheduleTick)
    }

    /// Asks the store for the next search, if it performs none.
    mutating func requestTimeSearch(now: BrokerTime) {
        guard let search = timeSearches.begin(now: now.monotonic) else { return }
        actions.append(.findSequence(atOrAfter: search.time))
    }

    /// Must be called when the store has answered `findSequence`.
    ///
    /// The request is checked again, because a subscription of this name may have been created meanwhile, and rights
    /// may have changed.
    package mutating func sequenceFound(_ result: Result<UInt64, StorageFailure>, now: BrokerTime) {
        let search = timeSearches.finish()
        if case .failure(let failure) = result { storageFailed(failure, now: now) }
        guard let search else { return }
        let slot = search.connection.slot
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

    /// Refuses the requests that wait for a search, because the daemon stops.
    mutating func refuseTimeSearches() {
        for search in timeSearches.removeAll() {
            uncharge(search)
            refuse(
                search.connection.slot, request: search.request,
                WireError(.closing, "not searched: the daemon is shutting down"))
        }
    }

    private mutating func uncharge(_ search: TimeSearch) {
        ledger.change(.pendingBytes, by: -search.byteCount, uid: connections[search.connection.slot].uid)
    }
}

extension LogPosition {
    /// The time at which the position begins, in microseconds since 1970; nil if it does not begin at a time, or if
    /// the time has not passed yet.
    func pastTime(at now: BrokerTime) -> UInt64? {
        switch self {
        case .now, .oldest, .sequence: nil
        case .age(let age): now.wallMicroseconds - min(age, now.wallMicroseconds)
        case .time(let time): time <= now.wallMicroseconds ? time : nil
        }
    }
}
