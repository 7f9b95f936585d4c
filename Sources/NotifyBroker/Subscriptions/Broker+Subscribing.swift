import NotifyCenter
import NotifyLog
import NotifyWire

/// Subscribing and detaching.
extension Broker {
    mutating func subscribe(_ subscribe: Subscribe, _ slot: ConnectionSlot) throws(WireError) {
        guard subscribe.subscription != 0, connections[slot].subscriptions[subscribe.subscription] == nil else {
            throw WireError(
                .subscriptionInUse, "subscription \(subscribe.subscription) is 0 or in use on this connection")
        }
        guard connections[slot].subscriptions.count < configuration.subscriptionsPerConnection else {
            throw WireError(
                .limitReached,
                "this connection has reached the limit of \(configuration.subscriptionsPerConnection) subscriptions")
        }
        let filter = try filter(of: subscribe, from: slot)
        if subscribe.durableName.isEmpty {
            try subscribeVolatile(subscribe, filter, slot)
        } else {
            try subscribeDurable(subscribe, filter, slot)
        }
    }

    /// Patterns are sorted and duplicates removed, so that the same set is the same filter.
    private func filter(of subscribe: Subscribe, from slot: ConnectionSlot) throws(WireError) -> SubscriptionFilter {
        guard (1...Limits.patternsPerSubscription).contains(subscribe.patterns.count) else {
            throw WireError(.invalidPattern, "a subscription has 1 to \(Limits.patternsPerSubscription) patterns")
        }
        var patterns: [NamePattern] = []
        // Strings would be compared by canonical equivalence; patterns are their bytes.
        for pattern in Set(try subscribe.patterns.map(Self.pattern)).sorted(by: Self.precedes) {
            try access.checkSubscribe(pattern, connections[slot].identity)
            patterns.append(pattern)
        }
        return SubscriptionFilter(patterns: patterns, object: subscribe.object.isEmpty ? nil : subscribe.object)
    }

    private static func precedes(_ left: NamePattern, _ right: NamePattern) -> Bool {
        left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
    }

    private static func pattern(_ text: String) throws(WireError) -> NamePattern {
        do {
            return try NamePattern(text)
        } catch {
            throw WireError(.invalidPattern, error.message)
        }
    }

    private mutating func subscribeVolatile(
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: ConnectionSlot
    ) throws(WireError) {
        try ledger.take(.subscriptions, uid: connections[slot].uid)
        let registration = subscriptions.add(filter, .connection(slot))
        connections[slot].subscriptions[subscribe.subscription] = .volatile(registration: registration)
        answer(
            slot,
            Subscribed(
                request: subscribe.request, subscription: subscribe.subscription, sequence: commits.sequencer.last,
                isResumed: false))
        if logs(.debug) { logSubscription(subscribe.subscription, filter, on: slot) }
    }

    mutating func endVolatile(_ registration: UInt64, of slot: ConnectionSlot) {
        subscriptions.removeVolatile(registration)
        ledger.change(.subscriptions, by: -1, uid: connections[slot].uid)
    }

    mutating func detach(_ detach: Detach, _ slot: ConnectionSlot) throws(WireError) {
        let detached = Detached(request: detach.request, subscription: detach.subscription)
        if logs(.debug), connections[slot].subscriptions[detach.subscription] != nil {
            log(.detached(number: detach.subscription), on: slot)
        }
        switch connections[slot].subscriptions.removeValue(forKey: detach.subscription) {
        case .volatile(let registration):
            endVolatile(registration, of: slot)
            answer(slot, detached)
        case .durable(let durable):
            self.detach(durable)
            commits.append(nil, then: .detached(connection: connections[slot].id, detached))
        case nil:
            throw WireError(
                .unknownSubscription, "this connection has no subscription \(detach.subscription)")
        }
    }
}
