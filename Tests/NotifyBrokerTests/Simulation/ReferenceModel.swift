import NotifyCenter
import NotifyLog
import NotifyWire

/// The expected state: posted, delivered and acknowledged messages. The model survives crashes of the broker.
struct ReferenceModel {
    struct Posted {
        var name: [UInt8]
        var object: [UInt8]
        /// The number in the payload; nil for a dead letter.
        var number: UInt64?
        var time = Duration.zero
    }

    /// The posts that the broker accepted, by sequence.
    private(set) var posts: [UInt64: Posted] = [:]
    /// The sequences that clients received, by the id of the durable subscription.
    var seen: [DurableID: Set<UInt64>] = [:]
    /// The sequences that clients received, by the generation of the durable subscription.
    var delivered: [UInt64: Set<UInt64>] = [:]
    /// The sequences that clients acknowledged, by the generation of the durable subscription.
    var acknowledged: [UInt64: Set<UInt64>] = [:]
    /// The lost messages that gaps have reported, by the generation of the durable subscription.
    var reported: [UInt64: Set<UInt64>] = [:]
    /// Whether messages may be deleted in other ways than the purge of dead letters.
    var retains = false {
        didSet { work.losesLetters = retains }
    }
    /// The sequences of the stored posts whose receipts were received.
    var receipted: Set<UInt64> = []
    /// The highest sequence whose commit was reported to the broker.
    var reportedThrough: UInt64 = 0
    /// The expectations about redeliveries and dead letters.
    var work = WorkModel()
    private(set) var violations: [String] = []

    mutating func fail(_ what: String) { violations.append(what) }

    mutating func accepted(_ post: Posted, as sequence: UInt64) {
        if posts.updateValue(post, forKey: sequence) != nil { fail("sequence \(sequence) is used twice") }
    }

    func matches(_ sequence: UInt64, _ selection: Selection) -> Bool {
        guard let post = posts[sequence] else { return false }
        return selection.selects(post.name, post.object)
    }

    /// Checks the state of the store. A message that a cursor has passed must be acknowledged, a dead letter, waiting
    /// for a redelivery, or lost.
    mutating func check(_ store: FakeStore) {
        for violation in work.checkLetters(store, posts) { fail(violation) }
        for record in store.subscriptions.values {
            let begin = store.firstCursors[record.generation] ?? 0
            let known = finished(record, store).union(store.copies[record.id]?.keys.map { $0 } ?? [])
                .union(store.deleted.lost[record.generation] ?? [])
            for message in store.messages where message.sequence > begin && message.isFor(record) {
                // A dead letter that fails is finished.
                if message.isDeadLetter { continue }
                let isDone =
                    message.sequence <= record.progress.cursor
                    || record.progress.acknowledged.contains {
                        $0.first <= message.sequence && message.sequence <= $0.last
                    }
                if isDone, !known.contains(message.sequence) {
                    fail("'\(record.name)' is past \(message.sequence), which was not acknowledged: \(record.progress)")
                    return
                }
            }
        }
    }

    /// The messages that a subscription does not need any more.
    private func finished(_ record: DurableRecord, _ store: FakeStore) -> Set<UInt64> {
        (acknowledged[record.generation] ?? []).union(store.exempt[record.generation] ?? [])
            .union(work.letters(of: record.name, store))
    }

    /// Checks that each message was acknowledged, is a dead letter or is lost, and that no copies remain. A message
    /// that had a copy must be finished although its original was deleted. Must be called after all work is done.
    mutating func checkFinished(_ store: FakeStore) {
        for record in store.subscriptions.values {
            let begin = store.firstCursors[record.generation] ?? 0
            let finished = finished(record, store)
            if let copies = store.copies[record.id], !copies.isEmpty { fail("'\(record.name)' keeps \(copies.keys)") }
            let copied = store.deleted.copied[record.generation] ?? []
            let lost = (store.deleted.lost[record.generation] ?? []).subtracting(copied)
            let deleted = copied.compactMap { store.deleted.messages[$0] }
            for message in store.messages + deleted where message.sequence > begin && message.isFor(record) {
                if !message.isDeadLetter, !lost.contains(message.sequence), !finished.contains(message.sequence) {
                    fail("'\(record.name)' never finished \(message.sequence)")
                }
            }
        }
    }

    /// Checks that no message is missing. Must be called after all work is done.
    mutating func checkComplete(_ store: FakeStore) {
        for record in store.subscriptions.values {
            let begin = store.firstCursors[record.generation] ?? 0
            let handed = (delivered[record.generation] ?? []).union(finished(record, store))
                .union(reported[record.generation] ?? [])
            for message in store.messages where message.sequence > begin && message.isFor(record) {
                if message.isDeadLetter, work.leastDeliveries[record.name] != nil { continue }
                if !handed.contains(message.sequence) { fail("'\(record.name)' never got \(message.sequence)") }
            }
            // `lostOfSubscription` excludes messages that were delivered from the ring, and deleted before the creation
            // of the subscription was committed: the log records no loss for them, and a restart forgets them.
            let lost = store.deleted.lostOfSubscription[record.generation] ?? []
            let silent = lost.subtracting(handed).subtracting(store.deleted.copied[record.generation] ?? [])
            if !silent.isEmpty { fail("'\(record.name)' lost \(silent.sorted()) without a gap") }
        }
        let stored = Set(store.messages.map(\.sequence)).union(store.deleted.messages.keys)
        if let lost = receipted.first(where: { !stored.contains($0) }) { fail("receipted \(lost) is not in the log") }
    }
}

/// A filter for the messages that a subscription selects, within the rights of its user under the default policy.
struct Selection {
    var filter: SubscriptionFilter
    var uid: UInt32
    private static let policy = AccessPolicy()

    func selects(_ name: [UInt8], _ object: [UInt8]) -> Bool {
        if let wanted = filter.object, Array(wanted.utf8) != object { return false }
        let identity = Identity(uid: uid, gid: uid)
        return name.withUnsafeBytes { filter.matches(name: $0) && Self.policy.mayReceive($0, identity) }
    }
}

extension FakeStore.Message {
    func isFor(_ record: DurableRecord) -> Bool {
        Selection(filter: record.filter, uid: record.owner.uid).selects(name, object)
    }
}

extension DurableRecord {
    /// The generation of the cursor, as clients receive it.
    var generation: UInt64 { UInt64(id.rawValue) << 32 | UInt64(progress.generation) }
}
