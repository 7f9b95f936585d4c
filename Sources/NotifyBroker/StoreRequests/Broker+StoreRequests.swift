package import NotifyLog
import NotifyWire

/// Requests that wait for the store. They are charged when they are accepted, begin in a tick, and end with an answer,
/// with the connection or with the daemon.
extension Broker {
    /// Makes a request wait until the store has worked on it.
    ///
    /// - Throws: `limitReached` if the user has no room for the request.
    mutating func request(_ task: some StoreTask, _ number: UInt64, _ slot: ConnectionSlot) throws(WireError) {
        let charge = try ledger.charge(task.byteCount, as: .pendingBytes, to: connections[slot].uid)
        let id = RequestID(connection: connections[slot].id, number: number)
        storeRequests.append(StoreRequest(id: id, charge: charge, task: task))
        if type(of: task).holdsConnection { pause(slot, .awaitingPage) }
        actions.append(.scheduleTick)
    }

    /// Begins requests of each kind, until one of the kind is current, or until the next one may not begin.
    mutating func beginStoreRequests(now: BrokerTime) {
        guard !storeRequests.isEmpty else { return }
        for kind in StoreRequestKind.all {
            while let next = storeRequests.next(of: kind), next.task.mayBegin(in: self),
                var request = storeRequests.takeNext(of: kind)
            {
                begin(&request, now: now)
            }
        }
    }

    private mutating func begin(_ request: inout StoreRequest, now: BrokerTime) {
        do throws(WireError) {
            switch try request.task.begin(request.id, in: &self, now: now) {
            case .asks(let work):
                request.rights = access.policy.generation
                storeRequests.begin(request, now: now)
                actions.append(.store(work, .request(request.kind)))
            case .waits: storeRequests.begin(request, now: now)
            case .leaves: ledger.release(request.charge)
            }
        } catch {
            ledger.release(request.charge)
            refuse(request.id, error)
        }
    }

    /// Must be called with each answer of the store to a `store` action.
    package mutating func stored(_ answer: StoreAnswer, for ticket: StoreTicket, now: BrokerTime) {
        switch ticket {
        case .request(let kind): stored(answer, for: kind, now: now)
        case .backup(let number): backedUp(answer, for: number, now: now)
        case .backlogs: backlogsMeasured(answer, now: now)
        }
    }

    private mutating func stored(_ answer: StoreAnswer, for kind: StoreRequestKind, now: BrokerTime) {
        guard var request = storeRequests.finish(kind) else { return }
        actions.append(.scheduleTick)
        if !request.isAbandoned { ledger.release(request.charge) }
        if case .failed(let failure) = answer { storageFailed(failure, now: now) }
        let awaited = request.isAbandoned ? nil : request.id
        switch isOutdated(request) ? .again : request.task.answered(answer, for: awaited, in: &self, now: now) {
        case .ended:
            if awaited != nil, type(of: request.task).holdsConnection { continueLists(of: [request.id.connection]) }
        case .continues:
            if awaited != nil { ledger.renew(request.charge) }
            storeRequests.begin(request, now: now)
        case .again:
            guard awaited != nil else { return }
            ledger.renew(request.charge)
            storeRequests.append(request)
        }
    }

    /// Whether the answer depends on rights that have changed since the store was asked.
    private func isOutdated(_ request: StoreRequest) -> Bool {
        !request.isAbandoned && type(of: request.task).dependsOnRights && request.rights != access.policy.generation
    }

    /// Takes the requests of a kind that have not begun, to answer them together with the current one.
    mutating func takeWaiting(_ kind: StoreRequestKind) -> [RequestID] {
        storeRequests.takeWaiting(kind).map { request in
            ledger.release(request.charge)
            return request.id
        }
    }

    /// Takes the current request of a kind, to answer it because of an event other than an answer of the store (see
    /// `StoreTaskStart.waits`). Nil if there is none, or if it is abandoned.
    mutating func takeCurrent(_ kind: StoreRequestKind) -> RequestID? {
        guard let request = storeRequests.finish(kind), !request.isAbandoned else { return nil }
        ledger.release(request.charge)
        return request.id
    }

    /// Drops the requests of a connection that ends, and ends its backup.
    mutating func endStoreRequests(of slot: ConnectionSlot) {
        for request in storeRequests.remove(connections[slot].id, uid: connections[slot].uid) {
            ledger.release(request.charge)
            request.task.abandoned(in: &self)
            // Other requests may have waited for the end of this one.
            actions.append(.scheduleTick)
        }
        endBackup(of: slot)
    }

    /// Refuses all requests, because the daemon stops.
    mutating func refuseStoreRequests() {
        for request in storeRequests.removeAll() {
            ledger.release(request.charge)
            refuse(
                request.id, WireError(.closing, "\(type(of: request.task).refusal): the daemon is shutting down"))
        }
    }

    mutating func refuse(_ request: RequestID, _ error: WireError) {
        refuse(request.connection.slot, request: request.number, error)
    }

    mutating func answer(_ request: RequestID, _ frame: some ControlFrame) {
        answer(request.connection.slot, frame)
    }
}
