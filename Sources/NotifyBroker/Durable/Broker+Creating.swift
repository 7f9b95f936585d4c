import NotifyLog
import NotifyWire

/// Creating durable subscriptions.
extension Broker {
    /// Creates a durable subscription without attaching to it, unless it exists. The answer, sent once the subscription
    /// is in the log, describes it.
    ///
    /// - Throws: `subscriptionMismatch` if it exists with other patterns, another object or another sharing.
    mutating func create(_ subscribe: Subscribe, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.subscribe + subscribe.patterns.count * FairScheduler.Cost.pattern)
        let filter = try filter(
            patterns: subscribe.patterns, object: subscribe.object, for: connections[slot].identity)
        try Limits.validateSubscriptionName(subscribe.durableName)
        let work = subscriptions.work
        defer { scheduler.spend(subscriptions.work - work) }
        let key = DurableKey(uid: connections[slot].uid, name: subscribe.durableName)
        if let existing = durables.slot(of: key) {
            try durables[existing].checkCreation(of: filter, sharing: subscribe.sharing)
            guard !durables[existing].isCreated else {
                return answer(
                    slot, description(of: existing, request: subscribe.request, existed: true, for: slot))
            }
            // The subscription's creation is in this batch or in an earlier one.
            connections[slot].answerPending()
            commits.append(
                nil,
                then: .created(
                    durables[existing].id, connection: connections[slot].id, request: subscribe.request, existed: true))
            return pauseIfLogBehind(slot)
        }
        if let time = try subscribe.start.pastTime(at: now) {
            return try search(.subscribe(subscribe), at: time, request: subscribe.request, slot)
        }
        let record = try newRecord(subscribe, filter, slot, now: now)
        let durable = try add(new: record)
        connections[slot].answerPending()
        commits.append(
            .create(record),
            then: .created(
                durables[durable].id, connection: connections[slot].id, request: subscribe.request, existed: false),
            isSynced: true)
        countDeleted(record, from: subscribe.start, slot)
        pauseIfLogBehind(slot)
    }

    /// Makes the store count the deleted messages that lie after the start position of a new subscription, if the start
    /// is a sequence or a time. Each such count compares all known deletions, so after some counts in one batch the
    /// connection pauses until the outcome.
    mutating func countDeleted(_ record: DurableRecord, from start: LogPosition, _ slot: ConnectionSlot) {
        guard case .sequence = start, record.progress.cursor < commits.sequencer.last else { return }
        scheduler.spend(FairScheduler.Cost.subscribe)
        if commits.countDeleted(record), commits.pauseUntilOutcome(slot) { pause(slot, .logBehind) }
    }

    /// The record of a subscription that a client creates.
    mutating func newRecord(
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> DurableRecord {
        try checkRoom(for: filter, uid: connections[slot].uid)
        let cursor = try firstCursor(at: subscribe.start)
        return DurableRecord(
            id: try durables.takeID(), owner: access.identity(connections[slot].identity), name: subscribe.durableName,
            filter: filter, settings: DurableSettings(defaultsFor: subscribe.sharing).applying(subscribe.settings),
            startedAfter: cursor, createdMicroseconds: now.wallMicroseconds,
            progress: DurableProgress(cursor: cursor, seenThrough: 0))
    }

    /// Adds a subscription that is not in the log yet.
    mutating func add(new record: DurableRecord) throws(WireError) -> DurableSlot {
        try ledger.take(.durableSubscriptions, uid: record.owner.uid)
        do throws(WireError) {
            return try add(record)
        } catch {
            ledger.change(.durableSubscriptions, by: -1, uid: record.owner.uid)
            throw error
        }
    }

    /// Answers a request to create a subscription that is now in the log.
    mutating func created(_ id: DurableID, connection: ConnectionID, request: UInt64, existed: Bool) {
        let slot = durables.slot(of: id)
        if let slot { durables[slot].isCreated = true }
        guard connections.contains(connection) else { return }
        connections[connection.slot].answerResolved()
        if let slot {
            let description = description(of: slot, request: request, existed: existed, for: connection.slot)
            answer(connection.slot, description)
        } else {
            refuse(
                connection.slot, request: request,
                WireError(.unknownSubscription, "the durable subscription was removed meanwhile"))
        }
    }

    mutating func creationFailed(
        _ id: DurableID, connection: ConnectionID, request: UInt64, existed: Bool, _ error: WireError
    ) {
        if !existed { creationFailed(id, error) }
        refuseCreation(connection, request: request, error)
    }

    private mutating func refuseCreation(_ connection: ConnectionID, request: UInt64, _ error: WireError) {
        guard connections.contains(connection) else { return }
        connections[connection.slot].answerResolved()
        refuse(connection.slot, request: request, error)
    }

    /// Removes a subscription whose creation failed. Pending requests for the subscription are refused, too.
    mutating func creationFailed(_ id: DurableID, _ error: WireError) {
        guard let slot = durables.slot(of: id) else { return }
        _ = endAttachments(slot)
        for case .attached(id, let later) in commits.pending.continuations {
            refuseAttach(later, error)
        }
        for later in commits.takeCreations(of: id) {
            refuseCreation(later.connection, request: later.request, error)
        }
        commits.dropChanges(of: id)
        removeDurable(slot)
    }
}

extension DurableSubscription {
    /// - Throws: `subscriptionMismatch` if this subscription differs from the one that the client asks to create,
    ///   `subscriptionInUse` if it is being removed.
    func checkCreation(of filter: SubscriptionFilter, sharing: DurableSharing) throws(WireError) {
        guard state != .removing else {
            throw WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed; try again later")
        }
        guard self.filter == filter else { throw mismatch(with: filter) }
        guard settings.sharing != sharing else { return }
        let difference =
            switch settings.sharing {
            case .group: "as a group: add --group"
            case .exclusive: "without a group: omit --group, make it one with 'notifyctl work --group --takeover'"
            }
        throw WireError(
            .subscriptionMismatch,
            "durable subscription '\(name)' exists \(difference), or use another name")
    }
}
