import NotifyLog
import NotifyWire

/// Detaching from durable subscriptions, and removing them.
extension Broker {
    /// Ends all attachments. The next attachment begins with the unacknowledged messages.
    mutating func detachAll(_ slot: DurableSlot) {
        closeReader(of: slot)
        durables.detachAll(slot)
        chargeDurable(slot)
    }

    /// Ends the attachments of some members. Their unanswered messages go to other members.
    mutating func detach(
        _ slot: DurableSlot, _ indices: [Int], _ ending: DurableSubscription.Ending, now: BrokerTime
    ) {
        if durables[slot].memberCount == indices.count { closeReader(of: slot) }
        scheduler.spend(indices.count * FairScheduler.Cost.detach)
        durables.detach(slot, indices, ending, now: now)
        if let loss = durables[slot].unheardLoss { reportLoss(loss, of: slot) }
        answersChanged(slot, now: now)
    }

    /// Ends all attachments, and returns them.
    mutating func endAttachments(_ slot: DurableSlot) -> [Attachment] {
        let attachments = durables[slot].attachments
        detachAll(slot)
        for attachment in attachments {
            connections[attachment.connection.slot].subscriptions[attachment.number] = nil
        }
        return attachments
    }

    private mutating func closeReader(of slot: DurableSlot) {
        guard let reader = durables[slot].reader else { return }
        if pages.readers[reader].isLive { durables[slot].passed(through: commits.persistedThrough) }
        pages.readers.close(reader)
    }

    /// Charges the user for the memory of the subscription, and for the copies of its messages in the log.
    mutating func chargeDurable(_ slot: DurableSlot) {
        let change = durables[slot].charge()
        if change.memory != 0 { ledger.change(.durableBytes, by: change.memory, uid: durables[slot].uid) }
        durables.unsavedRedeliveries.add(change)
        if change.copies != 0 {
            ledger.stored.changeCopies(by: change.copies, of: durables[slot].uid)
            limitCopies(of: slot)
        }
    }

    /// Sets the maximum bytes of the subscription's copies, depending on the room of its owner and of the log.
    mutating func limitCopies(of slot: DurableSlot) {
        let hasRoom = ownerHasRoom(for: slot) && (try? commits.checkRoom()) != nil
        durables[slot].maximumCopyBytes =
            hasRoom ? Redelivery.maximumBytes : Redelivery.bytesWithoutRoom
        if !hasRoom { durables.redeliveryReads.needsRoom(slot) }
    }

    /// Whether the owner's copies and dead letters are within the owner's share, and leave room for unread messages.
    private func ownerHasRoom(for slot: DurableSlot) -> Bool {
        ownerHasRoomForFailures(slot) && ownerHasRoomForUnread(slot)
    }

    /// Whether the owner's copies take less than half of the backlog limit. Unread messages have the other half.
    func ownerHasRoomForUnread(_ slot: DurableSlot) -> Bool {
        let bytes = ledger.stored.copyBytes(of: durables[slot].uid)
        return statistics.store.backlogLimit.map { UInt64(bytes) < $0 / 2 } ?? true
    }

    /// Removes a subscription that is not in the log: its creation failed, or its removal is committed.
    mutating func removeDurable(_ slot: DurableSlot) {
        let durable = durables.remove(slot)
        subscriptions.remove(durable.registration, uid: durable.uid)
        chargeRegistrations(of: durable.uid)
        ledger.change(.durableBytes, by: -durable.charged.memory, uid: durable.uid)
        if durable.charged.copies != 0 { ledger.stored.changeCopies(by: -durable.charged.copies, of: durable.uid) }
        durables.unsavedRedeliveries.add(DurableSubscription.Footprint() - durable.charged)
        for identity in durable.identities.inOrder { releaseIdentity(identity) }
        durables.lossLog.removed(durable.id)
        durables.redeliveryReads.removed(slot)
        ledger.change(.durableSubscriptions, by: -1, uid: durable.uid)
    }

    /// The durable subscription that a request names.
    ///
    /// - Throws: `forbidden` if the client may not manage it, `unknownSubscription` if it does not exist.
    func managed(_ request: some ManagementFrame, by slot: ConnectionSlot) throws(WireError) -> DurableSlot {
        let uid = request.uid == Remove.ownUID ? connections[slot].uid : request.uid
        try access.checkManage(uid: uid, connections[slot].identity)
        try Limits.validateSubscriptionName(request.durableName)
        guard let durable = durables.slot(of: DurableKey(uid: uid, name: request.durableName)) else {
            throw .unknown(request.durableName, uid: uid)
        }
        return durable
    }

    mutating func remove(_ remove: Remove, _ slot: ConnectionSlot) throws(WireError) {
        let durable = try managed(remove, by: slot)
        if remove.endsMembers { try endMembers(of: durable) }
        try durables[durable].removalRequested()
        let id = durables[durable].id
        commits.append(
            .remove(id: id), then: .removed(id, connection: connections[slot].id, request: remove.request))
        connections[slot].answerPending()
        pauseIfLogBehind(slot)
    }
}

extension Broker {
    /// Ends the attachments of all clients, because the subscription is removed.
    private mutating func endMembers(of durable: DurableSlot) throws(WireError) {
        try durables[durable].checkChangeable()
        scheduler.spend(durables[durable].memberCount * FairScheduler.Cost.detach)
        let name = durables[durable].name
        for attachment in endAttachments(durable) {
            refuse(
                attachment.connection.slot, request: takeUnanswered(attachment) ? attachment.request : 0,
                WireError(.unknownSubscription, "durable subscription '\(name)' was removed"),
                subscription: attachment.number)
        }
    }
}

extension WireError {
    /// The error of a request for a durable subscription that does not exist.
    static func unknown(_ name: String, uid: UInt32) -> WireError {
        WireError(.unknownSubscription, "\(uid.userTitle) has no durable subscription '\(name)'")
    }
}
