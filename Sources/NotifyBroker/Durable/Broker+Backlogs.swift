import NotifyCenter
import NotifyLog
import NotifyWire

/// Lists of durable subscriptions with their unacknowledged messages.
extension Broker {
    /// Makes a list wait until the store has counted the messages, unless the store has just counted them.
    mutating func prepareBacklogs(for slot: ConnectionSlot, now: BrokerTime) {
        let decision = durables.backlogs.requested(by: connections[slot].id, now: now.monotonic)
        if decision.waits {
            scheduler.spend(FairScheduler.Cost.search)
            pause(slot, .awaitingPage)
        }
        if decision.asks { actions.append(.store(.measureBacklogs(under: access.policy), .backlogs)) }
    }

    /// Handles the store's counts of messages.
    mutating func backlogsMeasured(_ answer: StoreAnswer, now: BrokerTime) {
        guard case .backlogs(let found) = answer else {
            preconditionFailure("the store has answered a count of backlogs with \(answer)")
        }
        continueLists(of: durables.backlogs.measured(found, now: now.monotonic))
        warnings.counted(now: now.monotonic)
    }

    /// Continues the lists that have waited long enough, without newer counts.
    mutating func expireBacklogs(now: Duration) {
        continueLists(of: durables.backlogs.takeExpired(now: now))
    }

    /// The durable subscriptions of a user, or of all users, in order of uid and name.
    mutating func durables(of uid: UInt32?) -> ArraySlice<DurableID> {
        scheduler.spend(durables.count)
        let keys = durables.keys.filter { uid == nil || $0.uid == uid }.sorted()
        return keys.compactMap { key in durables.slot(of: key).map { durables[$0].id } }[...]
    }

    /// The entry of a durable subscription in a list of all subscriptions.
    func subscriptionEntry(_ slot: DurableSlot, request: UInt64) -> SubscriptionEntry {
        let durable = durables[slot]
        let attachment = durable.firstMember?.attachment
        let pending = pending(of: durable)
        return SubscriptionEntry(
            request: request, uid: durable.uid, pid: attachment?.pid ?? 0,
            client: attachment.map { connections[$0.connection.slot].number } ?? 0, cursor: durable.position,
            behind: pending?.messages, isBehindUpperBound: pending?.isUpperBound ?? false,
            acknowledged: durable.acknowledgedCount,
            unacknowledged: UInt32(durable.unacknowledged), durableName: durable.name,
            object: durable.filter.object ?? "", patterns: durable.filter.patterns.map(\.description))
    }

    func durableEntry(_ slot: DurableSlot, request: UInt64) -> DurableEntry {
        let durable = durables[slot]
        let attachment = durable.firstMember?.attachment
        return DurableEntry(
            request: request, uid: durable.uid, pid: attachment?.pid ?? 0,
            client: attachment.map { connections[$0.connection.slot].number } ?? 0, cursor: durable.position,
            lost: durable.loss?.count ?? 0,
            isLostUpperBound: durable.loss?.isUpperBound ?? false,
            inFlight: UInt32(durable.unacknowledged), members: UInt32(durable.memberCount),
            waiting: UInt32(durable.waitingCount),
            sharing: durable.settings.sharing, pending: pending(of: durable), durableName: durable.name,
            object: durable.filter.object ?? "",
            patterns: durable.filter.patterns.map(\.description))
    }

    /// The unacknowledged messages of the subscription; nil if unknown.
    func pending(of durable: DurableSubscription) -> DurableEntry.Pending? {
        guard var pending = pendingInLog(of: durable) else { return nil }
        pending.messages += UInt64(durable.redeliveryCount)
        pending.bytes += UInt64(durable.copyBytes)
        if durable.redeliveryCount > 0, let oldest = durables.backlogs[durable.id]?.oldestCopyMicroseconds {
            pending.oldestMicroseconds = min(
                oldest, pending.oldestMicroseconds == 0 ? .max : pending.oldestMicroseconds)
        }
        return pending
    }

    /// The distance of a durable subscription from the end of the log. 0 while it receives each message as it is
    /// committed.
    func sequencesBehind(of durable: DurableSubscription) -> UInt64 {
        let end = commits.persistedThrough
        guard let reader = durable.reader else { return end.distance(above: durable.position) }
        return pages.readers[reader].isLive ? 0 : end.distance(above: pages.readers[reader].position)
    }

    /// The unacknowledged messages of the subscription above its cursor; nil if unknown.
    private func pendingInLog(of durable: DurableSubscription) -> DurableEntry.Pending? {
        if !durable.hasFirstDeliveries, sequencesBehind(of: durable) == 0 {
            return DurableEntry.Pending(messages: 0, bytes: 0, oldestMicroseconds: 0)
        }
        return durables.backlogs[durable.id].map {
            DurableEntry.Pending(
                messages: $0.messages, bytes: $0.bytes, oldestMicroseconds: $0.oldestMicroseconds ?? 0,
                isUpperBound: $0.isUpperBound)
        }
    }
}
