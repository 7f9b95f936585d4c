import NotifyLog
import NotifyWire

/// The next steps of an attachment after its commit, or after the failure of its commit.
extension Broker {
    /// Completes a committed attachment, even if the client has already detached: records the identity as the log
    /// does, and answers the request.
    mutating func attachCommitted(_ id: DurableID, _ attachment: Attachment) {
        defer { releaseIdentity(attachment.identity) }
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].isCreated = true
        durables[slot].pendingAttachments -= 1
        if attachment.replacedSettings != nil { durables[slot].sharingEnded() }
        attached(attachment.identity, to: slot)
        durables[slot].lastAttachment = attachment.last(after: durables[slot].lastAttachment)
        if durables[slot].attachmentCommitted(attachment) {
            if let reader = durables[slot].reader { pages.readers.wake(reader) } else { openReader(of: slot) }
            durables.redeliveryReads.wake(slot)
        }
        guard takeUnanswered(attachment) else { return }
        // The committed cursor is reported: if the client has already detached, a reset may be pending, and its cursor
        // is not committed yet.
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

    /// Records that an identity has attached. A new identity invalidates earlier decisions about rights, even if its
    /// client has detached already: these decisions count it as permitted.
    private mutating func attached(_ identity: IdentityID, to slot: DurableSlot) {
        let change = durables[slot].identities.attached(identity)
        guard change != .none else { return }
        access.retain(identity)
        if case .replaced(let earlier) = change { releaseIdentity(earlier) }
        forgetRights(of: slot)
        subscriptions.rightsChanged()
        durables.backlogs.forget(durables[slot].id)
        if let reader = durables[slot].reader { pages.readers[reader].rightsChanged() }
    }

    /// Records an identity with a member again, as the log does.
    mutating func identityKept(_ identity: IdentityID, of id: DurableID) {
        defer { releaseIdentity(identity) }
        if let slot = durables.slot(of: id) { attached(identity, to: slot) }
    }

    mutating func attachFailed(_ id: DurableID, _ attachment: Attachment, _ error: WireError, now: BrokerTime) {
        defer { releaseIdentity(attachment.identity) }
        if let slot = durables.slot(of: id) {
            durables[slot].pendingAttachments -= 1
            if attachment.isResumed {
                if let index = durables[slot].memberIndex(of: attachment) {
                    detach(slot, [index], .detached, now: now)
                    connections[attachment.connection.slot].subscriptions[attachment.number] = nil
                }
                if let earlier = attachment.replacedSettings { durables[slot].sharingEnded(restoring: earlier) }
            } else {
                creationFailed(id, error)
            }
        }
        refuseAttach(attachment, error)
    }

    mutating func refuseAttach(_ attachment: Attachment, _ error: WireError) {
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
