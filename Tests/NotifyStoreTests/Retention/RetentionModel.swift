import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// A model of retention: a log, and a list of all its messages.
struct RetentionModel {
    struct Message {
        var sequence: UInt64
        /// The index in `names`.
        var name: Int
        var bytes: Int
        /// Whether the message has the object that the filters of some subscriptions require.
        var hasObject: Bool
        /// The index in `segments`.
        var segment: Int
    }

    /// A segment: successive messages. Retention deletes the messages of a name in a segment together.
    struct Segment {
        var opened: Duration
        var messages = 0
        var bytes = 0
        var last: UInt64 = 0
        /// The earliest and the latest possible time at which the segment was closed. They differ if it was closed
        /// because of its age: the store does this when a pass of retention begins, and a commit may have begun a pass
        /// before the model ran one.
        var closed: ClosedRange<Duration>?
    }

    struct Subscription {
        var uid: UInt32
        /// The time of the creation, or of the last change of the subscription.
        var used: Duration
        /// Whether only messages with the object are for the subscription.
        var hasObject: Bool
        var patterns: [NamePattern] {
            didSet { isMatching = Self.match(patterns) }
        }
        /// Whether the patterns match, for each name. A look-up takes much less time than matching.
        private var isMatching: [Bool]
        var cursor: UInt64
        var generation: UInt32 = 0
        var acknowledged: Set<UInt64> = []
        var loss: Loss?
        /// The most messages that the loss may count: the lost messages, messages with another object, and messages
        /// that may have been deleted before their acknowledgement.
        var mostLost: UInt64 = 0
        /// The messages that were acknowledged since the deletions were last collected.
        var latest: Set<UInt64> = []

        init(uid: UInt32, used: Duration, patterns: [NamePattern], hasObject: Bool, cursor: UInt64) {
            self.uid = uid
            self.used = used
            self.patterns = patterns
            self.hasObject = hasObject
            self.cursor = cursor
            isMatching = Self.match(patterns)
        }

        private static func match(_ patterns: [NamePattern]) -> [Bool] {
            RetentionModel.names.map { name in
                name.withUTF8Bytes { name in patterns.contains { $0.matches(utf8: name) } }
            }
        }

        func matches(_ name: Int) -> Bool { isMatching[name] }

        /// Whether the message is held back. The store does not consider objects.
        func holds(_ message: Message) -> Bool {
            message.sequence > cursor && !acknowledged.contains(message.sequence) && matches(message.name)
        }

        func wants(_ message: Message) -> Bool { holds(message) && (message.hasObject || !hasObject) }

        /// Whether the loss may count the message.
        func mayLose(_ message: Message) -> Bool { holds(message) || latest.contains(message.sequence) }

        func filter(_ patterns: [NamePattern]) -> SubscriptionFilter {
            SubscriptionFilter(patterns: patterns, object: hasObject ? RetentionModel.object : nil)
        }
    }

    static let names = ["a.1", "a.2", "b.1", "b.2.x", "c"]
    private static let patterns = ["a.*", "b.>", ">", "a.1", "c", "*.1"]
    static let object = "o"

    private(set) var folder: TemporaryFolder
    let clock = ManualClock()
    var now = Duration.zero
    var options = StoreOptions.withoutTimer
    var store: Store
    var deletions = Deletions()
    var generator: SeededGenerator
    var next: UInt64 = 1
    /// Every message that is not known to be deleted.
    var messages: [Message] = []
    /// The segments. The last one is open.
    var segments: [Segment] = []
    var subscriptions: [DurableID: Subscription] = [:]
    var nextID: UInt32 = 1
    var deletedUnread = 0
    var deletedRead = 0
    var released = 0
    var expired = 0
    var expiring: Set<DurableID> = []

    init(seed: UInt64) throws {
        folder = try TemporaryFolder()
        generator = SeededGenerator(seed: seed)
        options.segmentMessages = Int.random(in: 1...30, using: &generator)
        options.segmentBytes = 3000
        options.segmentAge = .seconds(20)
        options.expiryGrace = .zero
        options.clock = clock.storeClock
        store = try Store.open(path: folder.database, options: options)
        open()
        setRules()
    }

    private func open() {
        store.setDeletionHandler { [deletions] in deletions.add($0) }
    }

    // MARK: Steps

    mutating func post() async throws {
        var stored: [StoredMessage] = []
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            next += UInt64.random(in: 1...3, using: &generator)
            let name = Int.random(in: Self.names.indices, using: &generator)
            let hasObject = generator.chance(70)
            let message = StoredMessage(
                next, Self.names[name], object: hasObject ? Self.object : "",
                payload: [UInt8](repeating: 1, count: Int.random(in: 0...200, using: &generator)))
            stored.append(message)
            let bytes = [message].usage.values.reduce(0) { $0 + $1.bytes }
            addToSegment(next, bytes)
            messages.append(
                Message(
                    sequence: next, name: name, bytes: bytes, hasObject: hasObject, segment: segments.count - 1))
        }
        try await store.commit(stored).result.get()
    }

    private mutating func addToSegment(_ sequence: UInt64, _ bytes: Int) {
        closeOldSegment()
        if let open = segments.last, open.closed == nil,
            open.messages >= options.segmentMessages || open.bytes + bytes > options.segmentBytes
        {
            segments[segments.count - 1].closed = now...now
        }
        if segments.last?.closed != nil || segments.isEmpty { segments.append(Segment(opened: now)) }
        segments[segments.count - 1].messages += 1
        segments[segments.count - 1].bytes += bytes
        segments[segments.count - 1].last = sequence
    }

    mutating func closeOldSegment() {
        guard let open = segments.last, open.closed == nil, now - open.opened >= options.segmentAge else { return }
        segments[segments.count - 1].closed = open.opened + options.segmentAge...now
    }

    mutating func acknowledge() async throws {
        guard let id = subscriptions.keys.sorted().randomElement(using: &generator),
            var subscription = subscriptions[id]
        else { return }
        let pending = messages.filter { subscription.wants($0) }.prefix(40)
        let held = Set(messages.filter { subscription.holds($0) }.map(\.sequence))
        // Messages are acknowledged in order or out of order.
        if generator.chance(60) {
            let count = Int.random(in: 0...pending.count, using: &generator)
            if count > 0 { subscription.cursor = pending[pending.startIndex + count - 1].sequence }
            if count == pending.count, pending.count < 40 { subscription.cursor = next }
        } else {
            for message in pending.dropFirst() where generator.chance(30) {
                subscription.acknowledged.insert(message.sequence)
            }
        }
        let cursor = subscription.cursor
        subscription.latest.formUnion(held.filter { $0 <= cursor || subscription.acknowledged.contains($0) })
        subscription.acknowledged = subscription.acknowledged.filter { $0 > cursor }
        subscriptions[id] = subscription
        try await store.commit([], changes: [.update(id: id, progress(of: subscription))]).result.get()
    }

    private func progress(of subscription: Subscription) -> DurableProgress {
        DurableProgress(
            cursor: subscription.cursor, seenThrough: next,
            acknowledged: subscription.acknowledged.sorted().map { SequenceRange(first: $0, last: $0) },
            generation: subscription.generation)
    }

    mutating func reset() async throws {
        try await replace { subscription, next, generator in
            subscription.cursor =
                Bool.random(using: &generator) ? 0 : UInt64.random(in: 0...next, using: &generator)
            subscription.acknowledged = []
            subscription.generation += 1
            subscription.loss = nil
            subscription.mostLost = 0
        }
    }

    mutating func edit() async throws {
        try await replace { subscription, _, generator in
            let patterns = Self.patterns.shuffled(using: &generator).prefix(2)
            subscription.patterns = NamePattern.sortedUniquely(patterns.compactMap { try? NamePattern($0) })
        }
    }

    private mutating func replace(
        _ change: (inout Subscription, UInt64, inout SeededGenerator) -> Void
    ) async throws {
        guard let id = subscriptions.keys.sorted().randomElement(using: &generator) else { return }
        try await maintain()
        guard var subscription = subscriptions[id] else { return }
        change(&subscription, next, &generator)
        subscription.used = now
        subscriptions[id] = subscription
        var record = DurableRecord(
            id: id, uid: subscription.uid, name: "s\(id)", subscription.filter(subscription.patterns))
        record.progress = progress(of: subscription)
        let earlier = DurableChange.update(
            id: id, DurableProgress(cursor: 0, seenThrough: 0, generation: subscription.generation &- 1))
        try await store.commit(
            [], changes: subscription.generation == 0 ? [.replace(record)] : [.replace(record), earlier]
        ).result.get()
    }

    mutating func subscribe() async throws {
        guard subscriptions.count < 5 else { return }
        try await maintain()
        let id = DurableID(nextID)
        nextID += 1
        let pattern = Self.patterns.randomElement(using: &generator) ?? ">"
        let cursor = Bool.random(using: &generator) ? next : 0
        let uid = UInt32.random(in: 1...2, using: &generator)
        let subscription = Subscription(
            uid: uid, used: now, patterns: [try NamePattern(pattern)], hasObject: generator.chance(30),
            cursor: cursor)
        subscriptions[id] = subscription
        let record = DurableRecord(
            id: id, uid: uid, name: "s\(id)", subscription.filter(subscription.patterns), cursor: cursor)
        try await store.commit([], changes: [.create(record)]).result.get()
    }

    mutating func unsubscribe() async throws {
        guard let id = subscriptions.keys.sorted().randomElement(using: &generator) else { return }
        subscriptions[id] = nil
        try await store.commit([], changes: [.remove(id: id)]).result.get()
    }

    mutating func advance() {
        // The time is sometimes long enough for subscriptions to expire.
        let seconds = generator.chance(3) ? 100...500 : 0...15
        let time = Duration.seconds(Int.random(in: seconds, using: &generator))
        clock.advance(by: time)
        now += time
        if generator.chance(5) {
            clock.setWall(aheadBy: .seconds(Int.random(in: -1_000_000...1_000_000, using: &generator)))
        }
    }

    mutating func changeRules() async throws {
        // The deletions before and after the change of the rules are each checked by the rules of their time.
        try await maintain()
        setRules()
    }

    private mutating func setRules() {
        var rules = (["a.>", "b.2.*", "c"] as [NamePattern]).map { pattern in
            var rule = RetentionRule(patterns: [pattern])
            rule.historyAge = ([nil, .zero, .seconds(60)] as [Duration?]).randomElement(using: &generator) ?? nil
            rule.historyBytes = ([nil, 0, 5000] as [UInt64?]).randomElement(using: &generator) ?? nil
            rule.maximumAge = ([nil, nil, .seconds(200)] as [Duration?]).randomElement(using: &generator) ?? nil
            rule.maximumBytes = ([nil, nil, 10_000] as [UInt64?]).randomElement(using: &generator) ?? nil
            rule.maximumMessages = ([nil, nil, 100] as [UInt64?]).randomElement(using: &generator) ?? nil
            return rule
        }
        rules.shuffle(using: &generator)
        options.retention.configuredRules = rules
        options.retention.maximumBacklog = generator.chance(50) ? .unlimited : .bytes(15_000)
        options.retention.subscriptionExpiry = generator.chance(50) ? nil : .seconds(400)
        store.setRetention(options.retention)
    }

    mutating func restart() async throws {
        next += 1
        try await maintain()
        let isCrash = generator.chance(50)
        let crashed = try TemporaryFolder()
        if isCrash { try folder.copyDatabase(to: crashed) }
        try store.close(nextSequence: next)
        if isCrash {
            folder = crashed
        } else if generator.chance(30) {
            clock.reboot(taking: .seconds(30))
            now += .seconds(30)
            options.clock = clock.storeClock
        }
        store = try Store.open(path: folder.database, options: options)
        for record in store.recovered.subscriptions {
            #expect(record.loss == subscriptions[record.id]?.loss)
            #expect(record.progress.generation == subscriptions[record.id]?.generation)
            #expect(record.filter.patterns == subscriptions[record.id]?.patterns)
        }
        deletions = Deletions()
        open()
        // The age of the open segment counts from the start.
        if segments.last?.closed == nil, !segments.isEmpty { segments[segments.count - 1].opened = now }
    }
}
