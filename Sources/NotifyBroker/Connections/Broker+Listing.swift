import NotifyCenter
import NotifyLog
import NotifyWire

/// The state of a request that is answered entry by entry: for a list, for monitored posts, or for a trace.
struct Listing {
    let request: UInt64
    var subject = ListSubject.durables
    /// The user whose items are listed; nil for all users. Decided once per list, because the decision takes longer
    /// than sending an entry.
    let uid: UInt32?
    /// Durable subscriptions still to be listed.
    var durables: ArraySlice<DurableID> = []
    /// Slots of connections still to be visited, after the durable subscriptions.
    var slots = 0..<0
    /// Volatile subscriptions of the connection visited last that are still to be listed.
    var volatiles: (connection: ConnectionID, numbers: ArraySlice<UInt32>)?
    /// Indices of counted names still to be listed.
    var names = 0..<0
    /// Monitored posts still to be sent.
    var postCount = 0
    /// Names with their stored messages, still to be sent.
    var storedNames: ArraySlice<LogSummary.Name> = []
    /// The memory that the user is charged for the list, in bytes.
    var byteCount = 0
    /// The message of a trace; nil for other requests.
    var traced: PostEntry?
    /// Why the deliveries of the traced message to durable subscriptions failed last, as in the log.
    var reasons: [DurableID: String] = [:]
    /// Whether the answer is the description of the durable subscription, without the end of a list.
    var isDescription = false
}

extension Broker {
    /// Begins to answer a list request. Later requests of the connection wait until the list is complete.
    mutating func list(_ list: ListRequest, _ slot: ConnectionSlot, now: BrokerTime) {
        let uid = access.mayManageEverything(connections[slot].identity) ? nil : connections[slot].uid
        var listing = Listing(request: list.request, subject: list.subject, uid: uid)
        switch list.subject {
        case .durables: listing.durables = durables(of: uid)
        case .subscriptions:
            listing.durables = durables(of: uid)
            listing.slots = 0..<connections.slotEnd
            if !listing.durables.isEmpty { prepareBacklogs(for: slot, now: now) }
        case .clients: listing.slots = 0..<connections.slotEnd
        case .backlogs:
            listing.durables = durables(of: uid)
            prepareBacklogs(for: slot, now: now)
        case .names:
            nameCounts.requested(now: now.monotonic)
            listing.names = nameCounts.entries.indices
        }
        connections[slot].listing = listing
        continueList(slot)
    }

    /// The durable subscriptions of a user, or of all users, in order of uid and name.
    mutating func durables(of uid: UInt32?) -> ArraySlice<DurableID> {
        scheduler.spend(durables.count)
        let keys = durables.keys.filter { uid == nil || $0.uid == uid }.sorted()
        return keys.compactMap { key in durables.slot(of: key).map { durables[$0].id } }[...]
    }

    /// Sends entries of a list until the connection's slice of work is used up or the connection is paused.
    @inline(__always)
    mutating func continueList(_ slot: ConnectionSlot) {
        while connections[slot].listing != nil, scheduler.hasBudgetLeft, connections[slot].pauses.isEmpty {
            listNext(slot)
            pauseIfAnswersUnread(slot)
        }
    }

    /// Sends the next entry, visits the next connection, or ends the list.
    private mutating func listNext(_ slot: ConnectionSlot) {
        guard let listing = connections[slot].listing else { return }
        if listing.isDescription {
            endDescription(listing.durables.first, of: slot, request: listing.request)
        } else if let id = connections[slot].listing?.durables.popFirst() {
            // The subscription may have been removed since the list began.
            guard let durable = durables.slot(of: id) else { return }
            guard let message = listing.traced else {
                scheduler.spend(FairScheduler.Cost.listEntry)
                guard listing.subject == .backlogs else {
                    return answer(slot, entry(durable, request: listing.request))
                }
                return answer(slot, durableEntry(durable, request: listing.request))
            }
            scheduler.spend(FairScheduler.Cost.tracePattern * (1 + durables[durable].filter.patterns.count))
            if var entry = traceEntry(durable, message, request: listing.request) {
                if entry.reason.isEmpty { entry.reason = listing.reasons[id] ?? "" }
                answer(slot, entry)
            }
        } else if let connection = listing.volatiles?.connection {
            guard let number = connections[slot].listing?.volatiles?.numbers.popFirst() else {
                connections[slot].listing?.volatiles = nil
                return
            }
            listVolatile(number, of: connection, for: slot, request: listing.request)
        } else if let index = connections[slot].listing?.slots.popFirst() {
            visit(ConnectionSlot(Int32(index)), for: slot, listing)
        } else if let index = connections[slot].listing?.names.popFirst() {
            scheduler.spend(FairScheduler.Cost.listEntry)
            if let entry = nameEntry(index, for: connections[slot].identity, request: listing.request) {
                answer(slot, entry)
            }
        } else if listing.postCount > 0, var post = monitors.next(for: connections[slot].id) {
            connections[slot].listing?.postCount -= 1
            scheduler.spend(FairScheduler.Cost.listEntry)
            post.request = listing.request
            answer(slot, post)
        } else if let name = connections[slot].listing?.storedNames.popFirst() {
            scheduler.spend(FairScheduler.Cost.listEntry)
            answer(slot, storedNameEntry(name, request: listing.request))
        } else {
            scheduler.spend(FairScheduler.Cost.listEntry)
            endListing(slot)
            answer(slot, ListEnd(request: listing.request))
        }
    }

    mutating func endListing(_ slot: ConnectionSlot) {
        guard let listing = connections[slot].listing.take(), listing.byteCount > 0 else { return }
        ledger.change(.pendingBytes, by: -listing.byteCount, uid: connections[slot].uid)
    }

    /// Lists a connection, or prepares to list its volatile subscriptions. Skips a connection that is being closed: its
    /// subscriptions have ended.
    private mutating func visit(_ visited: ConnectionSlot, for slot: ConnectionSlot, _ listing: Listing) {
        scheduler.spend(FairScheduler.Cost.listVisit)
        guard let id = connections.id(in: visited), !connections[visited].session.isClosing,
            listing.uid == nil || connections[visited].uid == listing.uid
        else { return }
        if listing.subject == .clients {
            scheduler.spend(FairScheduler.Cost.listEntry)
            answer(slot, clientEntry(visited, request: listing.request))
        } else {
            let numbers = connections[visited].subscriptions.compactMap { number, subscription in
                if case .volatile = subscription { number } else { nil }
            }
            scheduler.spend(connections[visited].subscriptions.count)
            connections[slot].listing?.volatiles = (id, numbers.sorted()[...])
        }
    }

    private mutating func listVolatile(
        _ number: UInt32, of connection: ConnectionID, for slot: ConnectionSlot, request: UInt64
    ) {
        // Since its connection was visited, the connection may have been closed, or the subscription detached.
        guard connections.contains(connection),
            case .volatile(let links)? = connections[connection.slot].subscriptions[number]
        else { return }
        scheduler.spend(FairScheduler.Cost.listEntry + links.count * FairScheduler.Cost.listPattern)
        answer(slot, entry(links, of: connection.slot, request: request))
    }
}

// MARK: - Entries

extension Broker {
    private func entry(_ slot: DurableSlot, request: UInt64) -> SubscriptionEntry {
        let durable = durables[slot]
        let attachment = durable.firstMember?.attachment
        let pending = pending(of: durable)
        return SubscriptionEntry(
            request: request, uid: durable.uid, pid: attachment?.pid ?? 0,
            client: attachment.map { connections[$0.connection.slot].number } ?? 0, cursor: durable.cursor.position,
            behind: pending?.messages, isBehindUpperBound: pending?.isUpperBound ?? false,
            acknowledged: durable.members.acknowledgedCount,
            unacknowledged: UInt32(durable.members.unacknowledged), durableName: durable.name,
            object: durable.filter.object ?? "", patterns: durable.filter.patterns.map(\.description))
    }

    /// The distance of a durable subscription from the end of the log. 0 while it receives each message as it is
    /// committed.
    func sequencesBehind(of durable: DurableSubscription) -> UInt64 {
        let end = commits.persistedThrough
        guard let reader = durable.reader else { return end.distance(above: durable.cursor.position) }
        return readers[reader].isLive ? 0 : end.distance(above: readers[reader].position)
    }

    private func entry(_ links: [SubscriptionLink], of slot: ConnectionSlot, request: UInt64) -> SubscriptionEntry {
        let (uid, pid, number) = (connections[slot].uid, connections[slot].pid, connections[slot].number)
        let filter = subscriptions.filter(of: links, uid: uid)
        return SubscriptionEntry(
            request: request, uid: uid, pid: pid, client: number, object: filter.object ?? "",
            patterns: filter.patterns)
    }

    private func clientEntry(_ slot: ConnectionSlot, request: UInt64) -> ClientEntry {
        let connection = connections[slot]
        return ClientEntry(
            request: request, client: connection.number, connectedMicroseconds: connection.openedMicroseconds,
            uid: connection.uid, gid: connection.gid, pid: connection.pid,
            subscriptions: UInt32(connection.subscriptions.count), posts: connection.counters.posts,
            refused: connection.counters.refused, delivered: egress[slot].messageCount,
            dropped: connection.counters.dropped, droppedByClient: connection.counters.droppedByClient,
            waitingBytes: UInt64(egress[slot].waitingBytes))
    }
}

extension UInt64 {
    /// The distance of the sequence above `other`; 0 if the sequence is lower.
    func distance(above other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
