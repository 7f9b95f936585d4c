import NotifyWire

/// Answers of the members of durable subscriptions, and their credit.
extension Broker {
    mutating func acknowledge(
        _ acknowledge: Acknowledge, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        let (durable, member) = try member(acknowledge.subscription, of: slot)
        let (reader, work) = (durables[durable].reader, durables[durable].redeliveryWork)
        let visited = durables[durable].firstDeliveryWork
        defer {
            spendOnRedeliveries(of: durable, since: work)
            scheduler.spend((durables[durable].firstDeliveryWork &- visited) / FairScheduler.Cost.visitsPerUnit)
        }
        do throws(WireError) {
            if let reader, pages.readers[reader].isLive { durables[durable].passed(through: commits.persistedThrough) }
            try durables.acknowledged(acknowledge.ranges, of: durable, by: member, now: now)
        } catch {
            refuse(slot, request: 0, error, subscription: acknowledge.subscription)
            return
        }
        durables[durable].lossAcknowledged(
            through: acknowledge.ranges.lazy.map(\.last).max() ?? 0, by: member)
        answersChanged(durable, now: now)
        pauseIfManyUnsaved(slot)
    }

    /// Handles a client's rejection of a message that it has not processed.
    mutating func reject(_ reject: Reject, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let (durable, member) = try member(reject.subscription, of: slot)
        let work = durables[durable].redeliveryWork
        defer { spendOnRedeliveries(of: durable, since: work) }
        do throws(WireError) {
            try durables.rejected(reject, of: durable, by: member, now: now)
        } catch {
            refuse(slot, request: 0, error, subscription: reject.subscription)
            return
        }
        answersChanged(durable, now: now)
        pauseIfManyUnsaved(slot)
    }

    /// Handles a client's request to postpone the deadlines of messages.
    mutating func extend(_ extend: Extend, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let (durable, member) = try member(extend.subscription, of: slot)
        let work = durables[durable].redeliveryWork
        defer { spendOnRedeliveries(of: durable, since: work) }
        durables[durable].extended(
            extend.sequences, microseconds: extend.microseconds, by: member, now: now)
        durables.noteProgress(durable)
        answersChanged(durable, now: now)
        pauseIfManyUnsaved(slot)
    }

    mutating func addCredit(_ credit: Credit, _ slot: ConnectionSlot) throws(WireError) {
        let (durable, member) = try member(credit.subscription, of: slot)
        durables[durable].creditAdded(credit.messages, to: member)
        wake(durable)
    }

    /// Continues deliveries after answers, and schedules a commit that persists the answers.
    mutating func answersChanged(_ slot: DurableSlot, now: BrokerTime) {
        chargeDurable(slot)
        commits.progressMade(now: now.monotonic)
        durables.setTimer(slot, now: now.monotonic)
        wake(slot)
    }

    /// Pauses a connection until the next outcome of a batch, if many rows of redeliveries wait for the store.
    private mutating func pauseIfManyUnsaved(_ slot: ConnectionSlot) {
        guard durables.unsavedRedeliveries.areMany else { return }
        commits.requestCommit()
        actions.append(.scheduleTick)
        if commits.pauseUntilOutcome(slot) { pause(slot, .logBehind) }
    }

    private mutating func spendOnRedeliveries(of slot: DurableSlot, since work: Int) {
        scheduler.spend(durables[slot].redeliveryWork - work)
    }

    private mutating func wake(_ slot: DurableSlot) {
        if let reader = durables[slot].reader { pages.readers.wake(reader) }
        durables.redeliveryReads.wake(slot, isNeeded: durables[slot].mayNeedCopies)
    }

    @inline(__always)
    private func member(
        _ number: UInt32, of slot: ConnectionSlot
    ) throws(WireError) -> (durable: DurableSlot, index: Int) {
        guard case .durable(let durable, let member)? = connections[slot].subscriptions[number] else {
            throw WireError(
                .unknownSubscription, "this connection has no durable subscription \(number)")
        }
        return (durable, member)
    }
}
