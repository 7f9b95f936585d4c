import NotifyCenter
import NotifyLog
import NotifyWire

extension Broker {
    /// A request other than a post came. What is wrong with it is answered.
    mutating func requestReceived(_ kind: FrameKind, _ frame: FrameDecoder.Frame, from slot: Int, now: Moment) {
        var request: UInt64 = 0
        do throws(WireError) {
            switch kind {
            case .acknowledge: try acknowledge(Acknowledge(frame), slot, now: now)
            case .credit: try addCredit(Credit(frame), slot)
            case .dropped: try droppedByClient(Dropped(frame), slot)
            default:
                guard frame.body.count >= MemoryLayout<UInt64>.size else { throw WireError.truncated }
                request = Post.request(of: frame)
                try connections[slot].session.requestReceived(request)
                try answerRequest(kind, frame, slot, now: now)
            }
        } catch {
            reject(slot, request: request, error, now: now)
        }
    }

    private mutating func answerRequest(
        _ kind: FrameKind, _ frame: FrameDecoder.Frame, _ slot: Int, now: Moment
    ) throws(WireError) {
        switch kind {
        case .subscribe: try subscribe(Subscribe(frame), slot)
        case .detach: try detach(Detach(frame), slot)
        case .remove: try remove(Remove(frame), slot)
        case .list: try list(List(frame), slot)
        case .ping: try answer(slot, Pong(request: Ping(frame).request))
        case .statistics:
            let request = try Statistics(frame).request
            answer(slot, StatisticsReport(request: request, counters: counters(now: now)))
        default:
            throw WireError(.unknownFrame, "frame kind \(kind.rawValue) is not a request")
        }
    }

    // MARK: Subscribing

    private mutating func subscribe(_ subscribe: Subscribe, _ slot: Int) throws(WireError) {
        guard subscribe.subscription != 0, connections[slot].subscriptions[subscribe.subscription] == nil else {
            throw WireError(
                .subscriptionInUse, "subscription \(subscribe.subscription) is 0 or in use on this connection")
        }
        guard connections[slot].subscriptions.count < configuration.subscriptionsPerConnection else {
            throw WireError(
                .limitReached,
                "this connection has reached the limit of \(configuration.subscriptionsPerConnection) subscriptions")
        }
        let filter = try filter(of: subscribe, uid: connections[slot].peer.uid)
        if subscribe.durableName.isEmpty {
            try subscribeVolatile(subscribe, filter, slot)
        } else {
            try subscribeDurable(subscribe, filter, slot)
        }
    }

    /// Patterns are put in order and repeats left out, so that the same set is the same filter.
    private func filter(of subscribe: Subscribe, uid: UInt32) throws(WireError) -> SubscriptionFilter {
        guard (1...Limits.patternsPerSubscription).contains(subscribe.patterns.count) else {
            throw WireError(
                .invalidPattern, "a subscription has 1 to \(Limits.patternsPerSubscription) patterns")
        }
        var patterns: [NamePattern] = []
        // Strings would be compared by canonical equivalence; patterns are their bytes.
        for pattern in Set(try subscribe.patterns.map(Self.pattern)).sorted(by: Self.precedes) {
            guard NameRights.maySubscribe(pattern, uid: uid) else {
                throw WireError(
                    .forbidden, "user \(uid) may not subscribe to '\(pattern)': that part of the names is another's")
            }
            patterns.append(pattern)
        }
        let object = subscribe.object.isEmpty ? nil : subscribe.object
        return SubscriptionFilter(patterns: patterns, object: object, uid: uid)
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
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: Int
    ) throws(WireError) {
        try accounts.take(
            \.subscriptions, of: filter.uid, limit: configuration.subscriptionsPerUser, named: "subscriptions")
        let registration = center.add(
            patterns: filter.patterns, object: filter.object, priority: Self.volatilePriority, slot: Int32(slot))
        connections[slot].subscriptions[subscribe.subscription] = .volatile(registration: registration)
        volatileSubscriptions += 1
        answer(
            slot,
            Subscribed(
                request: subscribe.request, subscription: subscribe.subscription, sequence: sequencer.last,
                isResumed: false))
    }

    private mutating func droppedByClient(_ dropped: Dropped, _ slot: Int) throws(WireError) {
        guard connections[slot].subscriptions[dropped.subscription] != nil else {
            throw WireError(.unknownSubscription, "this connection has no subscription \(dropped.subscription)")
        }
        let (sum, overflow) = statistics.droppedByClients.addingReportingOverflow(dropped.messages)
        statistics.droppedByClients = overflow ? .max : sum
    }

    /// Volatile registrations come before durable ones in a resolution, so that either part is found at once.
    static var volatilePriority: Int32 { 1 }

    mutating func endVolatile(_ registration: UInt64, of slot: Int) {
        _ = center.remove(registration)
        volatileSubscriptions -= 1
        accounts[connections[slot].peer.uid].subscriptions -= 1
    }

    // MARK: Detaching and removing

    private mutating func detach(_ detach: Detach, _ slot: Int) throws(WireError) {
        let detached = Detached(request: detach.request, subscription: detach.subscription)
        switch connections[slot].subscriptions.removeValue(forKey: detach.subscription) {
        case .volatile(let registration):
            endVolatile(registration, of: slot)
            answer(slot, detached)
        case .durable(let reader):
            self.detach(reader)
            pending.isWanted = true
            pending.continuations.append(.detached(connection: connections[slot].id, detached))
        case nil:
            throw WireError(
                .unknownSubscription, "this connection has no subscription \(detach.subscription)")
        }
    }

    private mutating func remove(_ remove: Remove, _ slot: Int) throws(WireError) {
        let peer = connections[slot].peer
        let uid = remove.uid == Remove.ownUID ? peer.uid : remove.uid
        guard uid == peer.uid || peer.uid == 0 else {
            throw WireError(.forbidden, "only root removes durable subscriptions of another user")
        }
        try Limits.validateSubscriptionName(remove.durableName)
        guard let index = readerSlots[DurableKey(uid: uid, name: remove.durableName)] else {
            throw WireError(
                .unknownSubscription, "user \(uid) has no durable subscription '\(remove.durableName)'")
        }
        try readers[index].removalRequested()
        pending.changes.append(.remove(id: readers[index].id))
        pending.isWanted = true
        pending.continuations.append(
            .removed(id: readers[index].id, connection: connections[slot].id, request: remove.request))
    }

    // MARK: Listing

    private mutating func list(_ list: List, _ slot: Int) throws(WireError) {
        // A list is many times as long as the request for it.
        guard outboxes[slot].unreadBytes <= configuration.answerBytesPerConnection else {
            throw WireError(
                .limitReached,
                "more than \(configuration.answerBytesPerConnection) bytes of answers are unread: read them, then ask again"
            )
        }
        let uid = connections[slot].peer.uid
        let keys = readerSlots.keys.filter { uid == 0 || $0.uid == uid }
        for key in keys.sorted(by: { ($0.uid, $0.name) < ($1.uid, $1.name) }) {
            guard let index = readerSlots[key] else { continue }
            let reader = readers[index]
            answer(
                slot,
                ListEntry(
                    request: list.request, uid: key.uid, holderPID: reader.attachment?.pid ?? 0,
                    cursor: reader.progress.cursor, durableName: key.name, object: reader.filter.object ?? "",
                    patterns: reader.filter.patterns.map(\.description)))
        }
        answer(slot, ListEnd(request: list.request))
    }
}
