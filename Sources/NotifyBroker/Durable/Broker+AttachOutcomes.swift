import NotifyLog
import NotifyWire

/// What follows when the attachment of a client is in the log, or could not be stored.
extension Broker {
    /// Completes a committed attachment, even if the client has already detached: sets the owner as in the log, and
    /// answers the request.
    mutating func attachCommitted(_ id: DurableID, _ attachment: Attachment) {
        defer { releaseIdentity(attachment.identity) }
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].isCreated = true
        if attachment.replacedSettings != nil { durables[slot].sharingEnded() }
        setOwner(of: slot, to: attachment.identity)
        durables[slot].lastAttachment = attachment.last(after: durables[slot].lastAttachment)
        if durables[slot].attachmentCommitted(attachment) {
            if let reader = durables[slot].reader { readers.wake(reader) } else { openReader(of: slot) }
            redeliveryReads.wake(slot)
        }
        guard takeUnanswered(attachment) else { return }
        // A client that has detached since may be answered during a reset.
        answer(
            attachment.connection.slot,
            Subscribed(
                request: attachment.request, subscription: attachment.number,
                sequence: durables[slot].committedCursor.position, generation: durables[slot].generation,
                isResumed: attachment.isResumed))
        if let loss = durables[slot].loss {
            durables[slot].lossReported(to: attachment)
            sendGap(loss, .deleted, to: attachment)
        }
        if logs(.debug) {
            logSubscription(
                attachment.number, durables[slot].filter, durableName: durables[slot].name,
                on: attachment.connection.slot)
        }
    }

    private mutating func openReader(of slot: DurableSlot) {
        let durable = durables[slot]
        let interest = LogReader.Interest(
            filter: durable.filter, identity: durable.owner, registration: durable.registration,
            subscription: durable.id)
        durables.opened(
            readers.open(LogReader(for: .durable(slot), interest, after: durable.cursor.readPosition)), of: slot)
    }

    /// Sets the owner: the identity of the client that attached last. The owner's rights apply to deliveries.
    private mutating func setOwner(of slot: DurableSlot, to identity: IdentityID) {
        let earlier = durables[slot].owner
        guard earlier != identity else { return }
        access.retain(identity)
        releaseIdentity(earlier)
        durables.setOwner(identity, of: slot)
        subscriptions.rightsChanged()
    }

    mutating func attachFailed(_ id: DurableID, _ attachment: Attachment, _ error: WireError, now: BrokerTime) {
        defer { releaseIdentity(attachment.identity) }
        if let slot = durables.slot(of: id) {
            if attachment.isResumed {
                if let index = durables[slot].members.index(of: attachment) {
                    detach(slot, [index], .detached, now: now)
                    connections[attachment.connection.slot].subscriptions[attachment.number] = nil
                }
                if let earlier = attachment.replacedSettings { durables[slot].sharingEnded(restoring: earlier) }
            } else {
                // The subscription was not created, so later attachments to it are also refused.
                _ = endAttachments(slot)
                for case .attached(id, let later) in commits.pending.continuations {
                    refuseAttach(later, error)
                }
                commits.dropChanges(of: id)
                removeDurable(slot)
            }
        }
        refuseAttach(attachment, error)
    }

    private mutating func refuseAttach(_ attachment: Attachment, _ error: WireError) {
        guard takeUnanswered(attachment) else { return }
        refuse(
            attachment.connection.slot, request: attachment.request, error, subscription: attachment.number)
    }

    /// Removes the attachment's request from the requests that await an answer.
    ///
    /// - Returns: Whether the request awaited an answer. If so, the caller must answer the request.
    mutating func takeUnanswered(_ attachment: Attachment) -> Bool {
        connections.contains(attachment.connection)
            && connections[attachment.connection.slot].unansweredAttaches.remove(attachment.request) != nil
    }
}
