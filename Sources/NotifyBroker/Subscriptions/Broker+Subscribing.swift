import NotifyCenter
import NotifyLog
import NotifyWire

/// Subscribing and detaching.
extension Broker {
    mutating func subscribe(
        _ subscribe: Subscribe, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        if subscribe.creation == .only { return try create(subscribe, slot, now: now) }
        guard subscribe.subscription != 0, connections[slot].subscriptions[subscribe.subscription] == nil else {
            throw WireError(
                .subscriptionInUse,
                "subscription number \(subscribe.subscription) is 0 or already in use on this connection")
        }
        guard connections[slot].subscriptions.count < configuration.subscriptionsPerConnection else {
            throw WireError(
                .limitReached,
                "this connection has reached the limit of \(configuration.subscriptionsPerConnection) subscriptions "
                    + "(limits.per_connection.subscriptions)")
        }
        scheduler.spend(FairScheduler.Cost.subscribe + subscribe.patterns.count * FairScheduler.Cost.pattern)
        let filter =
            subscribe.patterns.isEmpty && !subscribe.durableName.isEmpty
            ? try storedFilter(of: subscribe.durableName, for: slot)
            : try filter(
                patterns: subscribe.patterns, object: subscribe.object, for: connections[slot].identity)
        let work = subscriptions.work
        defer { scheduler.spend(subscriptions.work - work) }
        if subscribe.durableName.isEmpty {
            guard subscribe.start == .now else {
                throw WireError(.unsupported, "a volatile subscription begins with the next message posted")
            }
            try subscribeVolatile(subscribe, filter, slot)
        } else {
            try subscribeDurable(subscribe, filter, slot, now: now)
        }
    }

    /// Checks that the user may hold the memory of another filter in the center. Memory that the user's ended
    /// subscriptions left vacant is reused first.
    ///
    /// - Throws: `limitReached` if the user may not hold the memory.
    func checkRoom(for filter: SubscriptionFilter, uid: UInt32) throws(WireError) {
        let bytes = max(0, Self.registrationBytes(of: filter) - subscriptions.vacantByteCount(of: uid))
        try ledger.check(.registrationBytes, adding: bytes, uid: uid)
        try ledger.checkRoom(for: bytes, uid: uid)
    }

    /// An upper bound of a filter's memory in the center, in bytes.
    private static func registrationBytes(of filter: SubscriptionFilter) -> Int {
        filter.patterns.reduce(512) { bytes, pattern in
            bytes + 2 * pattern.byteCount + 300 * pattern.tokenCount
        }
    }

    /// Charges the user for the memory of its subscriptions in the center.
    mutating func chargeRegistrations(of uid: UInt32) {
        ledger.set(
            .registrationBytes, to: subscriptions.byteCount(of: uid) + services.table.byteCount(of: uid), uid: uid)
    }

    /// Creates the filter of a request. Its patterns are sorted and unique, so that filters can be compared.
    mutating func filter(
        patterns: [String], object: String, for identity: IdentityID
    ) throws(WireError) -> SubscriptionFilter {
        let patterns = try self.patterns(of: patterns)
        try checkRights(to: patterns, identity)
        return SubscriptionFilter(patterns: patterns, object: object.isEmpty ? nil : object)
    }

    /// The stored filter of a durable subscription, for a client that attaches without naming patterns.
    private mutating func storedFilter(
        of name: String, for slot: ConnectionSlot
    ) throws(WireError) -> SubscriptionFilter {
        try Limits.validateSubscriptionName(name)
        guard let durable = durables.slot(of: DurableKey(uid: connections[slot].uid, name: name)) else {
            throw .unknown(name, uid: connections[slot].uid)
        }
        let filter = durables[durable].filter
        try checkRights(to: filter.patterns, connections[slot].identity)
        return filter
    }

    private mutating func checkRights(to patterns: [NamePattern], _ identity: IdentityID) throws(WireError) {
        for pattern in patterns {
            let decision = access.policy.subscribeDecision(pattern, access.identity(identity))
            if case .allowed = decision { continue }
            // The check may have compared all rules with the pattern.
            scheduler.spend(access.policy.walkCost)
            try access.check(decision, pattern, identity)
        }
    }

    /// The patterns of a request, sorted and unique.
    func patterns(of texts: [String]) throws(WireError) -> [NamePattern] {
        guard (1...Limits.patternsPerSubscription).contains(texts.count) else {
            throw WireError(.invalidPattern, "a subscription has 1 to \(Limits.patternsPerSubscription) patterns")
        }
        return NamePattern.sortedUniquely(try texts.map(NamePattern.init(requested:)))
    }

    private mutating func subscribeVolatile(
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: ConnectionSlot
    ) throws(WireError) {
        let uid = connections[slot].uid
        try checkRoom(for: filter, uid: uid)
        try ledger.take(.subscriptions, uid: uid)
        do throws(WireError) {
            let links = try subscriptions.addVolatile(
                filter, to: slot, registration: &connections[slot].registration, uid: uid)
            connections[slot].subscriptions[subscribe.subscription] = .volatile(links)
            chargeRegistrations(of: uid)
        } catch {
            ledger.change(.subscriptions, by: -1, uid: uid)
            throw error
        }
        answer(
            slot,
            Subscribed(
                request: subscribe.request, subscription: subscribe.subscription, sequence: commits.sequencer.last,
                isResumed: false))
        if logs(.debug) { logSubscription(subscribe.subscription, filter, on: slot) }
    }

    private mutating func endVolatile(_ links: [SubscriptionLink], of slot: ConnectionSlot) {
        let uid = connections[slot].uid
        let work = subscriptions.work
        subscriptions.removeVolatile(links, uid: uid)
        scheduler.spend(subscriptions.work - work)
        chargeRegistrations(of: uid)
        ledger.change(.subscriptions, by: -1, uid: uid)
    }

    /// Ends the volatile subscriptions of a connection, and detaches the durable ones.
    mutating func endSubscriptions(of slot: ConnectionSlot, now: BrokerTime) {
        let uid = connections[slot].uid
        var volatileCount = 0
        var members: [DurableSlot: [Int]] = [:]
        for subscription in connections[slot].subscriptions.values {
            switch subscription {
            case .volatile: volatileCount += 1
            case .durable(let durable, let member): members[durable, default: []].append(member)
            }
        }
        for (durable, members) in members.sorted(by: { $0.key < $1.key }) {
            detach(durable, members.sorted(), .died, now: now)
        }
        if let registration = connections[slot].registration.take() {
            subscriptions.remove(registration, uid: uid, volatileSubscriptions: volatileCount)
            if subscriptions.pendingRemovalUID != nil { actions.append(.scheduleTick) }
            chargeRegistrations(of: uid)
        }
        ledger.change(.subscriptions, by: -volatileCount, uid: uid)
        connections[slot].subscriptions = [:]
    }

    mutating func detach(_ detach: Detach, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let detached = Detached(request: detach.request, subscription: detach.subscription)
        if logs(.debug), connections[slot].subscriptions[detach.subscription] != nil {
            log(.detached(number: detach.subscription), on: slot)
        }
        switch connections[slot].subscriptions.removeValue(forKey: detach.subscription) {
        case .volatile(let links):
            endVolatile(links, of: slot)
            answer(slot, detached)
        case .durable(let durable, let member):
            self.detach(durable, [member], .detached, now: now)
            commits.append(nil, then: .detached(connection: connections[slot].id, detached))
            connections[slot].answerPending()
            pauseIfLogBehind(slot)
        case nil:
            throw WireError(
                .unknownSubscription, "this connection has no subscription \(detach.subscription)")
        }
    }
}
