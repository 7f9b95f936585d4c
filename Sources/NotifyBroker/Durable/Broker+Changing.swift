import NotifyCenter
import NotifyLog
import NotifyWire

/// Resetting, editing and configuring durable subscriptions.
///
/// A change takes effect at once. If its commit fails, the change is undone. A reset and an edit also end all
/// attachments, so that no acknowledgement from before the change counts after it. The clients attach again, and their
/// frames for the earlier attachments are refused.
extension Broker {
    /// Moves the cursor of a subscription. A reset to a time continues once the store has found the sequence of that
    /// time.
    mutating func reset(_ reset: Reset, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let durable = try managed(reset, by: slot)
        if let time = try reset.position.pastTime(at: now) {
            return try search(.reset(reset), at: time, request: reset.request, slot)
        }
        let cursor = try firstCursor(at: reset.position)
        try durables[durable].checkChangeable()
        guard durables[durable].cursorGeneration < .max else {
            throw WireError(
                .limitReached,
                "durable subscription '\(reset.durableName)' can't be reset again: remove it and create it again")
        }
        scheduler.spend(FairScheduler.Cost.subscribe)
        makeHoldersAttachAgain(durable, isEdited: false)
        durables[durable].reset(to: cursor)
        commitChange(of: durable, request: reset.request, slot)
    }

    /// Replaces the patterns of a subscription. Its cursor and its acknowledgements stay.
    mutating func edit(_ edit: Edit, _ slot: ConnectionSlot) throws(WireError) {
        let durable = try managed(edit, by: slot)
        scheduler.spend(FairScheduler.Cost.subscribe + edit.patterns.count * FairScheduler.Cost.pattern)
        let earlier = durables[durable].filter
        let filter = try editedFilter(of: durable, edit, slot)
        try durables[durable].checkChangeable()
        guard filter != earlier else {
            return answer(slot, description(of: durable, request: edit.request, for: slot))
        }
        let work = subscriptions.work
        defer { scheduler.spend(subscriptions.work - work) }
        do throws(WireError) {
            try register(durable, as: filter, isLimited: true)
        } catch {
            try? register(durable, as: earlier)
            throw error
        }
        makeHoldersAttachAgain(durable, isEdited: true)
        // Until the commit, the registration also matches the earlier patterns.
        try? register(durable, as: filter.union(earlier))
        durables[durable].edit(to: filter)
        commitChange(of: durable, request: edit.request, slot)
    }

    /// The filter after an edit. Checks the right to its patterns: the client's right or, if the client is another
    /// user, the right of one of the identities that have attached.
    private mutating func editedFilter(
        of durable: DurableSlot, _ edit: Edit, _ slot: ConnectionSlot
    ) throws(WireError) -> SubscriptionFilter {
        let object = durables[durable].filter.object ?? ""
        guard durables[durable].uid != connections[slot].uid else {
            return try filter(patterns: edit.patterns, object: object, for: connections[slot].identity)
        }
        let identities = durables[durable].identities.inOrder
        for identity in identities.dropFirst() {
            if let filter = try? filter(patterns: edit.patterns, object: object, for: identity) { return filter }
        }
        return try filter(patterns: edit.patterns, object: object, for: identities[0])
    }

    /// Changes settings of a subscription. The new settings apply to messages that are delivered or fail from now on.
    mutating func configure(_ configure: Configure, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let durable = try managed(configure, by: slot)
        scheduler.spend(FairScheduler.Cost.subscribe)
        try durables[durable].checkChangeable()
        let settings = durables[durable].settings.applying(configure.changes)
        guard settings != durables[durable].settings else {
            return answer(slot, description(of: durable, request: configure.request, for: slot))
        }
        let earlier = durables[durable].settings
        durables[durable].configure(settings)
        if settings.deadlineMicroseconds != earlier.deadlineMicroseconds
            || settings.maximumDeliveries != earlier.maximumDeliveries
        {
            sendDeadline(of: durable)
        }
        commitChange(of: durable, request: configure.request, slot)
        answersChanged(durable, now: now)
    }

    /// Sends the deadline to the members, because clients extend deadlines in time. A client that gets this frame also
    /// stops fetching messages ahead, which it may do only without a deadline and without a maximum of deliveries.
    private mutating func sendDeadline(of durable: DurableSlot) {
        scheduler.spend(durables[durable].memberCount * FairScheduler.Cost.frame)
        let deadline = durables[durable].settings.deadlineMicroseconds
        for attachment in durables[durable].attachments
        where connections.contains(attachment.connection) {
            answer(
                attachment.connection.slot,
                DeadlineNotice(subscription: attachment.number, microseconds: deadline))
        }
    }

    private mutating func commitChange(of durable: DurableSlot, request: UInt64, _ slot: ConnectionSlot) {
        durables.noteProgress(durable)
        chargeDurable(durable)
        let record = record(of: durable)
        commits.append(
            .replace(record), then: .changed(record.id, connection: connections[slot].id, request: request),
            isSynced: true)
        connections[slot].answerPending()
        pauseIfLogBehind(slot)
    }

    /// Ends the pending change of a subscription, and answers its request.
    mutating func changeEnded(
        _ id: DurableID, connection: ConnectionID, request: UInt64, failure: WireError? = nil, now: BrokerTime
    ) {
        if let durable = durables.slot(of: id) {
            let isEdited = if case .edit? = durables[durable].pendingChange { true } else { false }
            let isConfigured = if case .settings? = durables[durable].pendingChange { true } else { false }
            durables[durable].changeEnded(succeeded: failure == nil)
            if isConfigured, failure != nil { sendDeadline(of: durable) }
            if isEdited { try? register(durable, as: durables[durable].filter) }
            durables.backlogs.forget(id)
            chargeDurable(durable)
            durables.redeliveryReads.wake(durable, isNeeded: durables[durable].mayNeedCopies)
            if failure != nil {
                durables.noteProgress(durable)
                // The restored state from before the reset may have timers and due messages.
                answersChanged(durable, now: now)
            }
        }
        guard connections.contains(connection) else { return }
        connections[connection.slot].answerResolved()
        if let failure {
            refuse(connection.slot, request: request, failure)
        } else if let durable = durables.slot(of: id) {
            answer(connection.slot, description(of: durable, request: request, for: connection.slot))
        } else {
            refuse(
                connection.slot, request: request,
                WireError(.unknownSubscription, "the durable subscription was removed meanwhile"))
        }
    }

    /// Ends the attachments of all clients with an error that makes them attach again.
    private mutating func makeHoldersAttachAgain(_ durable: DurableSlot, isEdited: Bool) {
        let change = isEdited ? "edited" : "reset"
        for attachment in endAttachments(durable) {
            refuse(
                attachment.connection.slot, request: takeUnanswered(attachment) ? attachment.request : 0,
                WireError(
                    .subscriptionChanged,
                    "durable subscription '\(durables[durable].name)' was \(change): attach to it again"),
                subscription: attachment.number, detail: isEdited ? ErrorFrame.editedDetail : 0)
        }
    }

    /// Replaces the registration of a subscription in the center.
    ///
    /// - Throws: `limitReached` if `isLimited` is true and a limit is exceeded. The subscription then has no
    ///   registration.
    private mutating func register(
        _ durable: DurableSlot, as filter: SubscriptionFilter, isLimited: Bool = false
    ) throws(WireError) {
        let uid = durables[durable].uid
        defer { chargeRegistrations(of: uid) }
        subscriptions.remove(durables[durable].registration, uid: uid)
        if subscriptions.pendingRemovalUID != nil { actions.append(.scheduleTick) }
        chargeRegistrations(of: uid)
        if isLimited { try checkRoom(for: filter, uid: uid) }
        durables[durable].registration = try subscriptions.addDurable(
            filter, durable, uid: uid, isLimited: isLimited)
        subscriptions.registrationReplaced(through: commits.sequencer.last)
    }
}

extension SubscriptionFilter {
    /// A filter that selects the messages of both filters, which must have the same object.
    fileprivate func union(_ other: SubscriptionFilter) -> SubscriptionFilter {
        SubscriptionFilter(patterns: NamePattern.sortedUniquely(patterns + other.patterns), object: object)
    }
}
