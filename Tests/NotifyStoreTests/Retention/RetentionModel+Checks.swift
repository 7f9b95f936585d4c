import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Checks that compare the log with the list of messages.
extension RetentionModel {
    /// Applies to the model the deletions that the store has reported since the last call.
    ///
    /// - Returns: Whether subscriptions hold back fewer messages than before, so that the next pass finds more history.
    private mutating func collect() throws -> Bool {
        while store.isMaintaining() {}
        let deletion = deletions.take()
        for (id, loss) in deletion.losses where deletion.generations[id] == subscriptions[id]?.generation {
            subscriptions[id]?.loss.add(loss)
        }
        for (id, sequence) in deletion.released
        where deletion.generations[id] == subscriptions[id]?.generation {
            guard let subscription = subscriptions[id] else { continue }
            let passed = messages.filter { $0.sequence <= sequence }
            let lost = passed.filter { subscription.wants($0) }
            released += lost.count
            subscriptions[id]?.mostLost += UInt64(passed.count { subscription.mayLose($0) })
            subscriptions[id]?.cursor = max(subscription.cursor, sequence)
            subscriptions[id]?.acknowledged = subscription.acknowledged.filter { $0 > sequence }
            if !lost.isEmpty { try check(subscription.loss, of: subscription, covers: lost) }
        }
        expiring.formUnion(deletion.expired)
        return !deletion.released.isEmpty || !deletion.expired.isEmpty
    }

    private func check(_ loss: Loss?, of subscription: Subscription, covers lost: [Message]) throws {
        let loss = try #require(loss, "\(lost.count) messages were lost")
        #expect(loss.isUpperBound || !subscription.hasObject)
        #expect(loss.first <= lost[0].sequence && loss.last >= lost[lost.count - 1].sequence)
        #expect(loss.count >= lost.count)
    }

    /// Removes the subscriptions that the store reports as expired.
    private mutating func expire() async throws {
        for id in expiring.sorted() {
            guard let subscription = subscriptions.removeValue(forKey: id) else { continue }
            #expect(now - subscription.used >= .seconds(400))
            expired += 1
            try await store.commit([], changes: [.remove(id: id)]).result.get()
        }
        expiring = []
    }

    /// Runs passes until nothing is left to do, and checks that the passes have deleted and kept the right messages.
    mutating func maintain() async throws {
        closeOldSegment()
        var isIncomplete = true
        while isIncomplete {
            store.maintainToEnd()
            isIncomplete = try collect()
            try await expire()
        }
        let stored = try store.allSequences()
        let isStored = messages.map { stored.contains($0.sequence) }
        let gone = zip(messages, isStored).filter { !$1 }.map(\.0)
        #expect(stored.count == messages.count - gone.count)
        for (id, subscription) in subscriptions {
            let lost = gone.filter { subscription.wants($0) }
            deletedUnread += lost.count
            if !lost.isEmpty { try check(subscription.loss, of: subscription, covers: lost) }
            let most = subscription.mostLost + UInt64(gone.count { subscription.mayLose($0) })
            #expect(subscription.loss?.count ?? 0 <= most, "the loss counts too much")
            subscriptions[id]?.mostLost = most
            subscriptions[id]?.latest = []
        }
        deletedRead += gone.count
        checkRules(isStored)
        if !gone.isEmpty { messages = zip(messages, isStored).filter(\.1).map(\.0) }
        checkSubscriptions()
    }

    /// Checks that no user holds back more than the limit, and that unused subscriptions expire.
    private func checkSubscriptions() {
        for uid in [1, 2] as [UInt32] {
            guard let limit = options.retention.backlogBytes else { break }
            let mine = subscriptions.values.filter { $0.uid == uid }
            let held = messages.filter { message in mine.contains { $0.holds(message) } }
            #expect(held.reduce(0) { $0 + $1.bytes } <= Int(limit))
        }
        if options.retention.subscriptionExpiry != nil {
            #expect(subscriptions.values.allSatisfy { now - $0.used < .seconds(400) })
        }
    }

    /// Checks that messages are deleted if a rule no longer keeps them, and only then.
    ///
    /// Since the last call, commits may have begun passes that deleted messages under the same rules. Later, newer
    /// messages were added, time has passed, and cursors have only moved forward, so these deletions are still allowed
    /// now.
    private func checkRules(_ isStored: [Bool]) {
        let segments = entries(isStored)
        for (index, rule) in options.retention.rules.enumerated() {
            let names = Self.names.indices.filter { name in
                Self.names[name].withUTF8Bytes { options.retention.rule(for: $0) } == index
            }
            var survey = RuleSurvey(rule, now: now)
            for entries in segments { survey.add(names.map { entries[$0] }) }
            #expect(survey.early.isEmpty, "deleted although the rule keeps it")
            #expect(survey.late.isEmpty, "kept although the rule does not keep it")
            if let limit = rule.maximumBytes { #expect(survey.kept.bytes <= Int(limit) + options.segmentBytes) }
            if let limit = rule.maximumMessages {
                #expect(survey.kept.messages <= Int(limit) + options.segmentMessages)
            }
            if let limit = rule.historyBytes {
                #expect(survey.kept.historyBytes <= Int(limit) + options.segmentBytes)
            }
        }
    }

    /// For each segment, from the newest to the oldest, the entries of all names.
    private func entries(_ isStored: [Bool]) -> [[RuleSurvey.Entry]] {
        let readThrough = Self.names.indices.map { name in
            subscriptions.values.filter { $0.matches(name) }.map(\.cursor).min() ?? .max
        }
        var result: [[RuleSurvey.Entry]] = []
        var current = -1
        for (message, isStored) in zip(messages.reversed(), isStored.reversed()) {
            if message.segment != current {
                current = message.segment
                let segment = segments[current]
                result.append(readThrough.map { .init(closed: segment.closed, isRead: $0 >= segment.last) })
            }
            result[result.count - 1][message.name].add(message, isStored: isStored)
        }
        return result
    }
}
