import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Compares retention with a list of all messages: random posts, acknowledgements, subscriptions, rules, times and
/// restarts.
@Suite(.timeLimit(.minutes(10)))
struct RetentionModelTests {
    @Test(arguments: 0..<2)
    func `nothing unread is lost without a gap, and nothing read stays too long`(round: Int) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var model = try Model(seed: seed)
        for step in 0..<10_000 {
            switch Int.random(in: 0..<100, using: &model.generator) {
            case 0..<40: try await model.post()
            case 40..<65: try await model.acknowledge()
            case 65..<69: try await model.subscribe()
            case 69..<72: try await model.unsubscribe()
            case 72..<88: model.advance()
            case 88..<89: try await model.reset()
            case 89..<90: try await model.edit()
            case 90..<91: try model.restart()
            case 91..<92: model.changeRules()
            default: try await model.maintain(checkingEverything: step.isMultiple(of: 50))
            }
        }
        try await model.maintain(checkingEverything: true)
        #expect(model.deletedUnread > 50, "the hard limits had an effect")
        #expect(model.deletedRead > 500)
        #expect(model.released > 50, "the limit of backlogs had an effect")
        #expect(model.expired > 5)
        try model.store.close(nextSequence: model.next)
    }

    struct Model {
        struct Message {
            var sequence: UInt64
            var name: String
            var posted: Duration
            var bytes: Int
        }

        struct Subscription {
            var uid: UInt32
            var created: Duration
            var patterns: [NamePattern] {
                didSet { names = Self.names(matching: patterns) }
            }
            /// The names that the patterns match. Looking up a name takes much less time than matching it.
            private var names: Set<String>
            var cursor: UInt64
            var generation: UInt32 = 0
            var acknowledged: Set<UInt64> = []
            var loss: Loss?

            init(uid: UInt32, created: Duration, patterns: [NamePattern], cursor: UInt64) {
                self.uid = uid
                self.created = created
                self.patterns = patterns
                self.cursor = cursor
                names = Self.names(matching: patterns)
            }

            private static func names(matching patterns: [NamePattern]) -> Set<String> {
                Set(
                    Model.names.filter { name in
                        name.withUTF8Bytes { name in patterns.contains { $0.matches(utf8: name) } }
                    })
            }

            func matches(_ name: String) -> Bool { names.contains(name) }

            func wants(_ message: Message) -> Bool {
                message.sequence > cursor && !acknowledged.contains(message.sequence) && matches(message.name)
            }
        }

        fileprivate static let names = ["a.1", "a.2", "b.1", "b.2.x", "c"]
        private static let patterns = ["a.*", "b.>", ">", "a.1", "c", "*.1"]

        let folder: TemporaryFolder
        let clock = ManualClock()
        var now = Duration.zero
        var options = StoreOptions.withoutTimer
        var store: Store
        var deletions = Deletions()
        var generator: SeededGenerator
        var next: UInt64 = 1
        /// Every message that is not known to be deleted.
        var messages: [Message] = []
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
            changeRules()
        }

        private func open() {
            store.setDeletionHandler { [deletions] in deletions.add($0) }
        }

        // MARK: Steps

        mutating func post() async throws {
            var stored: [StoredMessage] = []
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                next += UInt64.random(in: 1...3, using: &generator)
                let name = Self.names.randomElement(using: &generator) ?? "c"
                let message = StoredMessage(
                    next, name, payload: [UInt8](repeating: 1, count: Int.random(in: 0...200, using: &generator)))
                stored.append(message)
                messages.append(
                    Message(
                        sequence: next, name: name, posted: now,
                        bytes: [message].usage.values.reduce(0) { $0 + $1.bytes }))
            }
            try await store.commit(stored).result.get()
        }

        mutating func acknowledge() async throws {
            guard let id = subscriptions.keys.sorted().randomElement(using: &generator),
                var subscription = subscriptions[id]
            else { return }
            let pending = messages.filter { subscription.wants($0) }.prefix(40)
            // Sometimes in order, sometimes not.
            if generator.chance(60) {
                let count = Int.random(in: 0...pending.count, using: &generator)
                if count > 0 { subscription.cursor = pending[pending.startIndex + count - 1].sequence }
                if count == pending.count, pending.count < 40 { subscription.cursor = next }
            } else {
                for message in pending.dropFirst() where generator.chance(30) {
                    subscription.acknowledged.insert(message.sequence)
                }
            }
            subscription.acknowledged = subscription.acknowledged.filter { $0 > subscription.cursor }
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
            try await maintain(checkingEverything: false)
            guard var subscription = subscriptions[id] else { return }
            change(&subscription, next, &generator)
            subscriptions[id] = subscription
            var record = DurableRecord(
                id: id, uid: subscription.uid, name: "s\(id)", SubscriptionFilter(patterns: subscription.patterns))
            record.progress = progress(of: subscription)
            let earlier = DurableChange.update(
                id: id, DurableProgress(cursor: 0, seenThrough: 0, generation: subscription.generation &- 1))
            try await store.commit(
                [], changes: subscription.generation == 0 ? [.replace(record)] : [.replace(record), earlier]
            ).result.get()
            // What was deleted between the maintenance and the commit is no loss of the changed subscription.
            let stored = try await store.allSequences()
            messages.removeAll { !stored.contains($0.sequence) }
        }

        mutating func subscribe() async throws {
            guard subscriptions.count < 5 else { return }
            try await maintain(checkingEverything: false)
            let id = DurableID(nextID)
            nextID += 1
            let pattern = Self.patterns.randomElement(using: &generator) ?? ">"
            let cursor = Bool.random(using: &generator) ? next : 0
            let uid = UInt32.random(in: 1...2, using: &generator)
            subscriptions[id] = Subscription(
                uid: uid, created: now, patterns: [try NamePattern(pattern)], cursor: cursor)
            let record = try DurableRecord(
                id: id, uid: uid, name: "s\(id)", SubscriptionFilter(pattern), cursor: cursor)
            try await store.commit([], changes: [.create(record)]).result.get()
        }

        mutating func unsubscribe() async throws {
            guard let id = subscriptions.keys.sorted().randomElement(using: &generator) else { return }
            subscriptions[id] = nil
            try await store.commit([], changes: [.remove(id: id)]).result.get()
        }

        mutating func advance() {
            let time = Duration.seconds(Int.random(in: 0...15, using: &generator))
            clock.advance(by: time)
            now += time
            if generator.chance(5) {
                clock.setWall(aheadBy: .seconds(Int.random(in: -1_000_000...1_000_000, using: &generator)))
            }
        }

        mutating func changeRules() {
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

        mutating func restart() throws {
            next += 1
            try collect()
            try store.close(nextSequence: next)
            if generator.chance(30) {
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
        }

        // MARK: Checks

        /// Takes over what the store has deleted since the last call.
        private mutating func collect() throws {
            while store.isMaintaining() {}
            let deletion = deletions.take()
            for (id, loss) in deletion.losses where deletion.generations[id] == subscriptions[id]?.generation {
                if subscriptions[id]?.loss?.add(loss) == nil { subscriptions[id]?.loss = loss }
            }
            for (id, sequence) in deletion.released
            where deletion.generations[id] == subscriptions[id]?.generation {
                guard let subscription = subscriptions[id] else { continue }
                let lost = messages.filter { subscription.wants($0) && $0.sequence <= sequence }
                released += lost.count
                subscriptions[id]?.cursor = max(subscription.cursor, sequence)
                subscriptions[id]?.acknowledged = subscription.acknowledged.filter { $0 > sequence }
                if !lost.isEmpty { try check(subscription.loss, covers: lost) }
            }
            expiring.formUnion(deletion.expired)
        }

        private func check(_ loss: Loss?, covers lost: [Message]) throws {
            let loss = try #require(loss, "\(lost.count) messages were lost")
            #expect(loss.first <= lost[0].sequence && loss.last >= lost[lost.count - 1].sequence)
            #expect(loss.count >= lost.count)
        }

        /// Removes the subscriptions that the store reports as expired.
        private mutating func expire() async throws {
            for id in expiring.sorted() {
                guard let subscription = subscriptions.removeValue(forKey: id) else { continue }
                #expect(now - subscription.created >= .seconds(399))
                expired += 1
                try await store.commit([], changes: [.remove(id: id)]).result.get()
            }
            expiring = []
        }

        mutating func maintain(checkingEverything: Bool) async throws {
            store.maintainToEnd()
            try collect()
            try await expire()
            let stored = try await store.allSequences()
            let gone = messages.filter { !stored.contains($0.sequence) }
            #expect(stored.isSubset(of: messages.map(\.sequence)))
            messages.removeAll { !stored.contains($0.sequence) }
            for subscription in subscriptions.values {
                let lost = gone.filter { subscription.wants($0) }
                deletedUnread += lost.count
                if !lost.isEmpty { try check(subscription.loss, covers: lost) }
            }
            deletedRead += gone.count
            if checkingEverything { try checkRules() }
        }

        /// Checks that no rule keeps more than its limits and a segment.
        private func checkRules() throws {
            for uid in [1, 2] as [UInt32] {
                guard let limit = options.retention.backlogBytes else { break }
                let mine = subscriptions.values.filter { $0.uid == uid }
                let held = messages.filter { message in mine.contains { $0.wants(message) } }
                #expect(held.reduce(0) { $0 + $1.bytes } <= Int(limit) + 2 * (options.segmentBytes + 300))
            }
            if options.retention.subscriptionExpiry != nil {
                #expect(subscriptions.values.allSatisfy { now - $0.created <= .seconds(402) })
            }
            for index in options.retention.rules.indices {
                let rule = options.retention.rules[index]
                let mine = messages.filter { message in
                    message.name.withUTF8Bytes { options.retention.rule(for: $0) == index }
                }
                let slack = 2 * (options.segmentBytes + 300)
                // The open segment is not examined.
                let closed = mine.filter { now - $0.posted >= options.segmentAge }
                if let limit = rule.maximumBytes {
                    #expect(mine.reduce(0) { $0 + $1.bytes } <= Int(limit) + slack)
                }
                if let limit = rule.maximumMessages { #expect(mine.count <= Int(limit) + 2 * options.segmentMessages) }
                if let limit = rule.maximumAge {
                    #expect(closed.allSatisfy { now - $0.posted <= limit + options.segmentAge * 3 + .seconds(60) })
                }
                let read = closed.filter { message in
                    !subscriptions.values.contains { $0.cursor < message.sequence && $0.matches(message.name) }
                }
                if let limit = rule.historyBytes {
                    #expect(read.reduce(0) { $0 + $1.bytes } <= Int(limit) + slack)
                }
            }
        }
    }
}
