import NotifyLog
import NotifyWire

/// Lists, which are sent in slices.
extension Broker {
    /// Begins to answer a list request. Later requests of the connection wait until the list is complete.
    mutating func list(_ list: ListRequest, _ slot: ConnectionSlot, now: BrokerTime) {
        let uid = access.mayManageEverything(connections[slot].identity) ? nil : connections[slot].uid
        let visits = ListSource.Visits(of: uid, slots: 0..<connections.slotEnd)
        let source: ListSource
        switch list.subject {
        case .durables: source = .durables(durables(of: uid))
        case .subscriptions:
            let durables = durables(of: uid)
            if !durables.isEmpty { prepareBacklogs(for: slot, now: now) }
            source = .subscriptions(durables: durables, visits)
        case .clients: source = .clients(visits)
        case .backlogs:
            source = .backlogs(durables(of: uid))
            prepareBacklogs(for: slot, now: now)
        case .names:
            recorder.nameCounts.requested(now: now.monotonic)
            source = .names(recorder.nameCounts.entries.indices)
        }
        connections[slot].listing = Listing(request: list.request, source: source)
        continueList(slot)
    }

    /// Sends entries of a list until the connection's slice of work is used up or the connection is paused.
    @inline(__always)
    mutating func continueList(_ slot: ConnectionSlot) {
        while connections[slot].listing != nil, scheduler.hasBudgetLeft, connections[slot].pauses.isEmpty {
            listNext(slot)
            pauseIfAnswersUnread(slot)
        }
    }

    /// Continues lists that have waited for the store.
    mutating func continueLists(of waiting: [ConnectionID]) {
        for id in waiting where connections.contains(id) {
            resume(id.slot, .awaitingPage)
            if connections[id.slot].listing != nil { endTurn(of: id.slot, hasMore: true) }
        }
    }

    /// Ends the list of a connection, if there is one.
    mutating func endListing(_ slot: ConnectionSlot) {
        guard let listing = connections[slot].listing.take(), listing.byteCount > 0 else { return }
        ledger.change(.pendingBytes, by: -listing.byteCount, uid: connections[slot].uid)
    }

    /// Sends the entry of the next item, or ends the list.
    private mutating func listNext(_ slot: ConnectionSlot) {
        guard let request = connections[slot].listing?.request else { return }
        switch connections[slot].listing?.source.next() {
        case .client(let visited, let uid)?: listClient(visited, of: uid, for: slot, request: request)
        case .subscriber(let visited, let uid)?: visitSubscriber(visited, of: uid, for: slot)
        case .volatile(let number, let connection)?: listVolatile(number, of: connection, for: slot, request: request)
        case .server(let server, let connection)?: listServer(server, of: connection, for: slot, request: request)
        case .subscription(let id)?:
            guard let durable = durables.slot(of: id) else { return }
            scheduler.spend(FairScheduler.Cost.listEntry)
            answer(slot, subscriptionEntry(durable, request: request))
        case .backlog(let id)?:
            guard let durable = durables.slot(of: id) else { return }
            scheduler.spend(FairScheduler.Cost.listEntry)
            answer(slot, durableEntry(durable, request: request))
        case .description(let id)?: endDescription(id, of: slot, request: request)
        case .traced(let id, let traced)?: listTraced(traced, in: id, for: slot, request: request)
        case .name(let index)?:
            scheduler.spend(FairScheduler.Cost.listEntry)
            if let entry = nameEntry(index, for: connections[slot].identity, request: request) { answer(slot, entry) }
        case .post?:
            guard var post = recorder.monitors.next(for: connections[slot].id) else {
                return endList(slot, request: request)
            }
            scheduler.spend(FairScheduler.Cost.listEntry)
            post.request = request
            answer(slot, post)
        case .storedName(let name)?:
            scheduler.spend(FairScheduler.Cost.listEntry)
            answer(slot, storedNameEntry(name, request: request))
        case nil: endList(slot, request: request)
        }
    }

    private mutating func endList(_ slot: ConnectionSlot, request: UInt64) {
        scheduler.spend(FairScheduler.Cost.listEntry)
        endListing(slot)
        answer(slot, ListEnd(request: request))
    }
}
