import NotifyCenter
import NotifyLog
import NotifyWire

/// The state of a list request that is answered entry by entry.
struct Listing {
    let request: UInt64
    /// The subscriptions still to be listed.
    var rest: ArraySlice<DurableID>
}

extension Broker {
    /// Begins to answer a list request. Later requests of the connection wait until the list is complete.
    mutating func list(_ list: ListRequest, _ slot: ConnectionSlot) {
        let identity = connections[slot].identity
        scheduler.spend(durables.count)
        let keys = durables.keys.filter { access.mayManage(uid: $0.uid, identity) }.sorted()
        let ids = keys.compactMap { key in durables.slot(of: key).map { durables[$0].id } }
        connections[slot].listing = Listing(request: list.request, rest: ids[...])
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

    /// Sends the next entry, or the end of the list.
    private mutating func listNext(_ slot: ConnectionSlot) {
        guard let request = connections[slot].listing?.request else { return }
        scheduler.spend(FairScheduler.Cost.listEntry)
        guard let id = connections[slot].listing?.rest.popFirst() else {
            connections[slot].listing = nil
            answer(slot, ListEnd(request: request))
            return
        }
        // The subscription may have been removed since the list began.
        if let durable = durables.slot(of: id) { answer(slot, listEntry(durable, request: request)) }
    }

    private func listEntry(_ slot: DurableSlot, request: UInt64) -> ListEntry {
        let durable = durables[slot]
        return ListEntry(
            request: request, uid: durable.uid, holderPID: durable.member?.attachment.pid ?? 0,
            cursor: durable.cursor.position, durableName: durable.name, object: durable.filter.object ?? "",
            patterns: durable.filter.patterns.map(\.description))
    }
}
