import NotifyLog
import NotifyWire

/// Durable subscriptions: creating, attaching, detaching, removing.
extension Broker {
    /// Restores a durable subscription from the log. If a client was still attached when the last run ended, that run
    /// did not end cleanly, and clients may have seen every stored message.
    mutating func recover(_ record: DurableRecord) {
        var record = record
        let wasAttached = record.progress.isAttached
        if wasAttached {
            record.progress.seenThrough = commits.sequencer.last
            record.progress.isAttached = false
        }
        guard let slot = try? add(record, isLimited: false) else { return }
        ledger.change(.durableSubscriptions, by: 1, uid: record.owner.uid)
        if wasAttached { durables.noteProgress(slot) }
    }

    /// Creates a durable subscription, or attaches to an existing one. The request is answered after the commit.
    ///
    /// A subscription that begins at a time is created once the store has found the sequence of that time.
    mutating func subscribeDurable(
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        try Limits.validateSubscriptionName(subscribe.durableName)
        guard subscribe.window <= Limits.maximumWindow else {
            throw WireError(
                .limitReached, "a window of \(subscribe.window) is over the limit of \(Limits.maximumWindow)")
        }
        let existing = durables.slot(of: DurableKey(uid: connections[slot].uid, name: subscribe.durableName))
        if existing == nil, let time = try subscribe.start.pastTime(at: now) {
            return try search(.subscribe(subscribe), at: time, slot)
        }
        let attachment = attachment(for: subscribe, slot, isResumed: existing != nil, now: now)
        let durable: DurableSlot
        var change: DurableChange?
        if let existing {
            switch durables[existing].attachRequested(
                by: attachment.instance, on: attachment.connection, filter: filter)
            {
            case .free: break
            case .takeOver(let earlier): takeOver(existing, from: earlier)
            case .refused(let error, let holderPID):
                refuse(slot, request: subscribe.request, error, detail: UInt64(holderPID))
                return
            }
            durable = existing
            durables.noteProgress(durable)
            // Needed even if the owner is the same, because an earlier attachment under another identity may be
            // pending.
            change = .setOwner(
                id: durables[durable].id, access.identity(attachment.identity), attachment.asLast)
        } else {
            (durable, change) = try create(subscribe, filter, slot, attachment)
        }
        durables.attach(durable, attachment, credit: subscribe.credit)
        connections[slot].subscriptions[subscribe.subscription] = .durable(durable)
        connections[slot].unansweredAttaches.insert(subscribe.request)
        access.retain(attachment.identity)
        // Flushed before any message is delivered. Even after a power failure, the log must show that a client was
        // attached and may have seen messages.
        commits.append(change, then: .attached(durables[durable].id, attachment), isSynced: true)
        chargeDurable(durable)
        pauseIfLogBehind(slot)
    }

    private func attachment(
        for subscribe: Subscribe, _ slot: ConnectionSlot, isResumed: Bool, now: BrokerTime
    ) -> Attachment {
        Attachment(
            connection: connections[slot].id, number: subscribe.subscription, instance: connections[slot].instance,
            identity: connections[slot].identity, pid: connections[slot].pid, request: subscribe.request,
            isResumed: isResumed,
            window: Int(subscribe.window == 0 ? configuration.defaultWindow : subscribe.window),
            requestedMicroseconds: now.wallMicroseconds)
    }

    private mutating func create(
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: ConnectionSlot, _ attachment: Attachment
    ) throws(WireError) -> (DurableSlot, DurableChange) {
        let uid = connections[slot].uid
        try checkRoom(for: filter, uid: uid)
        let cursor = try firstCursor(at: subscribe.start)
        var record = DurableRecord(
            id: try durables.takeID(), owner: access.identity(connections[slot].identity), name: subscribe.durableName,
            filter: filter, startedAfter: cursor, createdMicroseconds: attachment.requestedMicroseconds,
            lastAttachment: attachment.asLast, progress: DurableProgress(cursor: cursor, seenThrough: 0))
        try ledger.take(.durableSubscriptions, uid: uid)
        do throws(WireError) {
            let durable = try add(record)
            record.progress.isAttached = true
            return (durable, .create(record))
        } catch {
            ledger.change(.durableSubscriptions, by: -1, uid: uid)
            throw error
        }
    }

    /// The cursor of a subscription that is created at `start`, which is no past time.
    func firstCursor(at start: LogPosition) throws(WireError) -> UInt64 {
        switch start {
        case .oldest: return 0
        case .sequence(let first):
            guard first <= commits.sequencer.next else {
                throw WireError(
                    .invalidArgument,
                    "sequence \(first) is beyond the end of the log: the next message has sequence "
                        + "\(commits.sequencer.next) or a higher one")
            }
            return first - 1
        // A time that has not passed yet.
        case .now, .age, .time: return commits.sequencer.last
        }
    }

    private mutating func add(_ record: DurableRecord, isLimited: Bool = true) throws(WireError) -> DurableSlot {
        let owner = retainIdentity(record.owner)
        let slot = durables.add(record, owner: owner)
        do throws(WireError) {
            let registration = try subscriptions.addDurable(
                record.filter, slot, uid: record.owner.uid, isLimited: isLimited)
            durables[slot].registration = registration
            chargeRegistrations(of: record.owner.uid)
            chargeDurable(slot)
            return slot
        } catch {
            releaseIdentity(durables.remove(slot).owner)
            throw error
        }
    }

    /// Ends the attachment on an earlier connection of a client that now attaches on another one.
    private mutating func takeOver(_ slot: DurableSlot, from earlier: Attachment) {
        detach(slot)
        guard connections.contains(earlier.connection) else { return }
        connections[earlier.connection.slot].subscriptions[earlier.number] = nil
        refuse(
            earlier.connection.slot, request: takeUnanswered(earlier) ? earlier.request : 0,
            WireError(.takenOver, "another connection of this client took over '\(durables[slot].name)'"),
            subscription: earlier.number)
    }

    // MARK: Outcomes

    /// Completes a committed attachment, even if the client has already detached: sets the owner as in the log, and
    /// answers the request.
    mutating func attachCommitted(_ id: DurableID, _ attachment: Attachment) {
        defer { releaseIdentity(attachment.identity) }
        guard let slot = durables.slot(of: id) else { return }
        setOwner(of: slot, to: attachment.identity)
        durables[slot].lastAttachment = attachment.asLast
        if durables[slot].attachmentCommitted(attachment) {
            openReader(of: slot)
        }
        guard takeUnanswered(attachment) else { return }
        // A client that has detached since may be answered during a reset.
        answer(
            attachment.connection.slot,
            Subscribed(
                request: attachment.request, subscription: attachment.number,
                sequence: durables[slot].committedCursor.position, generation: durables[slot].generation,
                isResumed: attachment.isResumed))
        if let loss = durables[slot].loss { sendGap(loss, .deleted, to: slot) }
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
            readers.open(LogReader(for: .durable(slot), interest, after: durable.cursor.position)), of: slot)
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

    mutating func attachFailed(_ id: DurableID, _ attachment: Attachment, _ error: WireError) {
        defer { releaseIdentity(attachment.identity) }
        if let slot = durables.slot(of: id) {
            if attachment.isResumed {
                if durables[slot].member?.attachment == attachment { endAttachment(slot) }
            } else {
                // The subscription was not created, so later attachments to it are also refused.
                endAttachment(slot)
                for case .attached(id, let later) in commits.pending.continuations {
                    refuseAttach(later, error)
                }
                commits.dropChanges(of: id)
                removeDurable(slot)
            }
        }
        refuseAttach(attachment, error)
    }

    mutating func endAttachment(_ slot: DurableSlot) {
        guard let attachment = durables[slot].member?.attachment else { return }
        detach(slot)
        connections[attachment.connection.slot].subscriptions[attachment.number] = nil
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

    // MARK: Detaching and removing

    /// Ends the attachment, if there is one. The next attachment begins with the unacknowledged messages.
    mutating func detach(_ slot: DurableSlot) {
        if let reader = durables[slot].reader {
            if readers[reader].isLive { durables[slot].passed(through: commits.persistedThrough) }
            readers.close(reader)
        }
        durables.detach(slot)
        chargeDurable(slot)
    }

    /// Charges the user for the memory of the subscription.
    mutating func chargeDurable(_ slot: DurableSlot) {
        let change = durables[slot].charge()
        if change != 0 { ledger.change(.durableBytes, by: change, uid: durables[slot].uid) }
    }

    /// Removes a subscription that is not in the log, because its creation failed or its removal is committed.
    mutating func removeDurable(_ slot: DurableSlot) {
        let durable = durables.remove(slot)
        subscriptions.remove(durable.registration, uid: durable.uid)
        chargeRegistrations(of: durable.uid)
        ledger.change(.durableBytes, by: -durable.chargedBytes, uid: durable.uid)
        releaseIdentity(durable.owner)
        lossLog.removed(durable.id)
        ledger.change(.durableSubscriptions, by: -1, uid: durable.uid)
    }

    /// The durable subscription that a request names.
    ///
    /// - Throws: `forbidden` if the client may not manage it.
    func managed(_ name: String, uid: UInt32, by slot: ConnectionSlot) throws(WireError) -> DurableSlot {
        let uid = uid == Remove.ownUID ? connections[slot].uid : uid
        try access.checkManage(uid: uid, connections[slot].identity)
        try Limits.validateSubscriptionName(name)
        guard let durable = durables.slot(of: DurableKey(uid: uid, name: name)) else {
            throw .unknown(name, uid: uid)
        }
        return durable
    }

    mutating func remove(_ remove: Remove, _ slot: ConnectionSlot) throws(WireError) {
        let durable = try managed(remove.durableName, uid: remove.uid, by: slot)
        try durables[durable].removalRequested()
        let id = durables[durable].id
        commits.append(
            .remove(id: id), then: .removed(id, connection: connections[slot].id, request: remove.request))
        pauseIfLogBehind(slot)
    }
}

extension WireError {
    /// The error of a request for a durable subscription that does not exist.
    static func unknown(_ name: String, uid: UInt32) -> WireError {
        WireError(.unknownSubscription, "\(uid.userTitle) has no durable subscription '\(name)'")
    }
}
