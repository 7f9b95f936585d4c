package import NotifyLog
import NotifyWire

/// Effects of deletions by the store, mainly on durable subscriptions that had not acknowledged the messages.
extension Broker {
    /// Must be called when the store reports a deletion: a step of retention or of a purge, or deletions by a batch.
    package mutating func deleted(_ deletion: Deletion, now: BrokerTime) {
        ledger.stored.remove(deletion.usage)
        if !deletion.usage.isEmpty {
            durables.redeliveryReads.retry()
            actions.append(.scheduleTick)
        }
        if let store = deletion.statistics {
            statistics.store = store
            warnings.schedule(now: now.monotonic)
        }
        statistics.deleted += deletion.usage.values.reduce(0) { $0 + UInt64($1.messages) }
        // A purge may also have deleted the newest messages, and messages that no subscription has lost.
        if deletion.isPurge {
            pages.readers.evictRing(through: commits.persistedThrough)
            let hasDeleted = !deletion.usage.isEmpty || !deletion.copies.isEmpty
            if hasDeleted { storeRequests.updateCurrent { (purge: inout LogPurge) in purge.hasDeleted = true } }
        }
        pages.readers.evictRing(through: deletion.deadLettersThrough)
        for name in deletion.names { ledger.nameRemoved(name, unlessIn: commits.unfinishedBatches) }
        let isChecking = storeRequests.isWorking(on: .check)
        for range in deletion.emptied { commits.damage.forget(range, duringCheck: isChecking) }
        if deletion.madeRoom, durables.lossLog.logsRoom(now: now.monotonic) {
            actions.append(
                .warn(
                    "read messages were deleted before their time, because new ones had no room: see log.max_bytes and "
                        + "log.min_free_bytes"))
        }
        for (id, sequences) in deletion.copies { copiesDeleted(sequences, of: id, deletion.generations[id]) }
        for (id, loss) in deletion.losses.sorted(by: { $0.key < $1.key }) {
            guard let slot = durables.slot(of: id) else { continue }
            let generation = deletion.generations[id] ?? durables[slot].cursorGeneration
            guard let loss = durables[slot].lost(loss, generation: generation) else { continue }
            let isReleased = deletion.released[id] != nil
            // Before its creation is committed, a subscription lacks only messages that were deleted earlier. These
            // losses are not logged.
            if durables[slot].isCreated {
                if !isReleased { pages.readers.evictRing(through: loss.last) }
                logLoss(loss, of: id, in: deletion, now: now.monotonic)
            }
            guard let reader = durables[slot].reader else { continue }
            // Released messages of a group need a gap now: if a member ends without reading them, they are not
            // delivered again.
            let isForgotten = isReleased && durables[slot].settings.sharing == .group
            if pages.readers[reader].position < loss.last || isForgotten || deletion.copies[id] != nil {
                reportLoss(loss, of: slot)
            } else {
                // The messages were delivered. If one of them fails later, no copy can be made, and the loss is
                // reported then.
                durables[slot].lossNotReported(loss)
            }
        }
        for (id, sequence) in deletion.released { release(id, through: sequence, deletion.generations[id]) }
        for id in deletion.expired.sorted() { expire(id) }
        if let health = deletion.health {
            statistics.retentionFailure = if case .failed(let failure) = health { failure } else { nil }
            warnings.schedule(now: now.monotonic)
        }
    }

    /// Ends redeliveries whose copies the store has deleted. Redeliveries in flight end with their answers, because
    /// after a failure there is neither the message nor a copy.
    private mutating func copiesDeleted(_ sequences: [UInt64], of id: DurableID, _ generation: UInt32?) {
        guard let slot = durables.slot(of: id), generation == durables[slot].committedCursor.generation else { return }
        durables[slot].copiesDeleted(sequences)
        chargeDurable(slot)
        durables.redeliveryReads.retry()
        actions.append(.scheduleTick)
    }

    /// Moves the cursor past messages that the subscription no longer holds back. The store has already moved the
    /// cursor in the log.
    private mutating func release(_ id: DurableID, through sequence: UInt64, _ generation: UInt32?) {
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].released(through: sequence, generation: generation ?? durables[slot].cursorGeneration)
        chargeDurable(slot)
        if let reader = durables[slot].reader { pages.readers.wake(reader) }
    }

    /// Removes a subscription that has been without a client for too long, unless a client has attached meanwhile.
    private mutating func expire(_ id: DurableID) {
        guard let slot = durables.slot(of: id), (try? durables[slot].removalRequested()) != nil else { return }
        commits.append(.remove(id: id), then: .expired(id))
    }

    /// Completes the committed removal of an expired subscription.
    mutating func expired(_ id: DurableID) {
        guard let slot = durables.slot(of: id) else { return }
        actions.append(
            .warn(
                "durable subscription '\(durables[slot].name)' of \(durables[slot].uid.userTitle) was removed: no client "
                    + "has used it for the time set by log.expire_subscriptions"))
        removeDurable(slot)
    }

    /// Sends a gap for deleted messages to the member that has been attached longest.
    mutating func reportLoss(_ messages: Loss, of slot: DurableSlot) {
        if let loss = durables[slot].lossReported(messages) { sendGap(loss, .deleted, to: slot) }
    }

    /// Sends a gap to the member that has been attached longest, for messages that the subscription does not receive.
    mutating func sendGap(_ loss: Loss, _ reason: Gap.Reason, to slot: DurableSlot) {
        if let member = durables[slot].firstMember { sendGap(loss, reason, to: member.attachment) }
    }

    mutating func sendGap(_ loss: Loss, _ reason: Gap.Reason, to attachment: Attachment) {
        guard connections.contains(attachment.connection) else { return }
        answer(
            attachment.connection.slot,
            Gap(
                reason: reason, isUpperBound: loss.isUpperBound, subscription: attachment.number,
                dropped: loss.count, range: SequenceRange(first: loss.first, last: loss.last)))
    }
}
