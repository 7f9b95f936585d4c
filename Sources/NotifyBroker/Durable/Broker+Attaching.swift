import NotifyLog
import NotifyWire

/// Creating durable subscriptions, and attaching to them.
extension Broker {
    /// Restores a durable subscription from the log. If a client was still attached when the last run ended, that run
    /// did not end cleanly, and clients may have seen every stored message.
    mutating func recover(
        _ record: DurableRecord, _ redeliveries: [Redelivery],
        failure: (sequence: UInt64, failures: UInt32, reason: String)? = nil
    ) {
        var record = record
        let wasAttached = record.progress.isAttached
        if wasAttached {
            record.progress.seenThrough = commits.sequencer.last
            record.progress.isAttached = false
        }
        let kept = Redeliveries(redeliveries, now: daemon.started)
        guard let slot = try? add(record, kept, isLimited: false) else { return }
        durables[slot].isCreated = true
        durables[slot].lastFailure = failure.map {
            .init(sequence: $0.sequence, microseconds: 0, failures: $0.failures, reason: $0.reason)
        }
        ledger.change(.durableSubscriptions, by: 1, uid: record.owner.uid)
        durables.setTimer(slot, now: daemon.started.monotonic)
        durables.redeliveryReads.wake(slot)
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
        guard existing != nil || subscribe.creation != .never else {
            throw .unknown(subscribe.durableName, uid: connections[slot].uid)
        }
        if existing == nil, let time = try subscribe.start.pastTime(at: now) {
            return try search(.subscribe(subscribe), at: time, request: subscribe.request, slot)
        }
        var attachment = attachment(for: subscribe, slot, isResumed: existing != nil, now: now)
        let durable: DurableSlot
        var change: DurableChange?
        if let existing {
            switch durables[existing].attachRequested(
                by: attachment.instance, on: attachment.connection, filter: filter, sharing: subscribe.sharing,
                takesOver: subscribe.takesOver)
            {
            case .free: try checkRoom(forMemberOf: existing, attachment.identity)
            case .takeOver(let earlier):
                if durables[existing].settings.sharing != subscribe.sharing { try durables[existing].checkChangeable() }
                takeOver(existing, from: earlier, by: attachment, now: now)
            case .refused(let error, let holderPID):
                refuse(slot, request: subscribe.request, error, detail: UInt64(holderPID))
                return
            }
            durable = existing
            try share(durable, as: subscribe.sharing, &attachment)
            durables.noteProgress(durable)
            keepIdentities(of: durable, before: attachment.identity)
            // This change is needed even if the same identity attached last, because the attachment of another identity
            // may be pending.
            change = .setOwner(
                id: durables[durable].id, access.identity(attachment.identity),
                attachment.last(after: durables[durable].lastAttachment))
        } else {
            var record = try newRecord(subscribe, filter, slot, now: now)
            record.lastAttachment = attachment.last(after: LastAttachment())
            durable = try add(new: record)
            record.progress.isAttached = true
            change = .create(record)
        }
        let member = durables.attach(durable, attachment, credit: subscribe.credit)
        connections[slot].subscriptions[subscribe.subscription] = .durable(durable, member: member)
        connections[slot].unansweredAttaches.insert(subscribe.request)
        access.retain(attachment.identity)
        durables[durable].pendingAttachments += 1
        // The attachment is flushed to disk before any message is delivered: even after a power failure, the log must
        // show that a client was attached and may have seen messages.
        commits.append(change, then: .attached(durables[durable].id, attachment), isSynced: true)
        if case .create(let record) = change { countDeleted(record, from: subscribe.start, slot) }
        if attachment.replacedSettings != nil {
            commits.append(
                .replace(record(of: durable)))
        }
        chargeDurable(durable)
        pauseIfLogBehind(slot)
    }

    private func checkRoom(forMemberOf durable: DurableSlot, _ identity: IdentityID) throws(WireError) {
        guard durables[durable].memberCount < Limits.membersPerSubscription else {
            throw WireError(
                .limitReached,
                "durable subscription '\(durables[durable].name)' has reached the limit of "
                    + "\(Limits.membersPerSubscription) members")
        }
        guard
            durables[durable].hasMember(of: identity)
                || durables[durable].memberIdentityCount < DurableRecord.maximumOwners
        else {
            throw WireError(
                .limitReached,
                "durable subscription '\(durables[durable].name)' has members with \(DurableRecord.maximumOwners) "
                    + "different sets of groups, which is the limit")
        }
    }

    /// Records identities with members again before an identity attaches, so that it replaces none of them.
    private mutating func keepIdentities(of durable: DurableSlot, before identity: IdentityID) {
        if durables[durable].pendingAttachments > 0 {
            scheduler.spend(durables[durable].memberCount / FairScheduler.Cost.visitsPerUnit)
        }
        for kept in durables[durable].identitiesToKeep(before: identity) {
            access.retain(kept)
            commits.append(
                .setOwner(id: durables[durable].id, access.identity(kept), durables[durable].lastAttachment),
                then: .identityKept(durables[durable].id, kept))
        }
    }

    /// Changes how an existing subscription is shared, after its other members have ended.
    private mutating func share(
        _ durable: DurableSlot, as sharing: DurableSharing, _ attachment: inout Attachment
    ) throws(WireError) {
        let earlier = durables[durable].settings
        guard earlier.sharing != sharing else { return }
        try durables[durable].checkChangeable()
        attachment.replacedSettings = earlier
        durables[durable].share(sharing)
    }

    private func attachment(
        for subscribe: Subscribe, _ slot: ConnectionSlot, isResumed: Bool, now: BrokerTime
    ) -> Attachment {
        Attachment(
            connection: connections[slot].id, number: subscribe.subscription, instance: connections[slot].instance,
            identity: connections[slot].identity, pid: connections[slot].pid, request: subscribe.request,
            isResumed: isResumed,
            window: Int(subscribe.window == 0 ? configuration.defaultWindow : subscribe.window),
            hasCredit: subscribe.credit > 0,
            requestedMicroseconds: now.wallMicroseconds)
    }

    /// The first cursor of a subscription that begins at `start`, which must not be a time in the past.
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
        // A time here has not passed yet.
        case .now, .age, .time: return commits.sequencer.last
        }
    }

    mutating func add(
        _ record: DurableRecord, _ redeliveries: Redeliveries = Redeliveries(), isLimited: Bool = true
    ) throws(WireError) -> DurableSlot {
        let identities = record.owners.map { retainIdentity($0) }
        let slot = durables.add(record, redeliveries: redeliveries, identities: identities)
        do throws(WireError) {
            let registration = try subscriptions.addDurable(
                record.filter, slot, uid: record.owner.uid, isLimited: isLimited)
            durables[slot].registration = registration
            chargeRegistrations(of: record.owner.uid)
            chargeDurable(slot)
            return slot
        } catch {
            for identity in durables.remove(slot).identities.inOrder { releaseIdentity(identity) }
            throw error
        }
    }

    /// Ends the attachments of other connections, because a client takes the subscription over.
    private mutating func takeOver(
        _ slot: DurableSlot, from earlier: [Attachment], by later: Attachment, now: BrokerTime
    ) {
        detach(slot, earlier.compactMap { durables[slot].memberIndex(of: $0) }, .detached, now: now)
        for earlier in earlier where connections.contains(earlier.connection) {
            connections[earlier.connection.slot].subscriptions[earlier.number] = nil
            let taker =
                earlier.instance == later.instance ? "another connection of this client" : "process \(later.pid)"
            refuse(
                earlier.connection.slot, request: takeUnanswered(earlier) ? earlier.request : 0,
                WireError(.takenOver, "\(taker) took over '\(durables[slot].name)'"), subscription: earlier.number)
        }
    }
}
