import NotifyLog
import NotifyWire

/// Deletions of messages by the store itself or on request, and the losses of durable subscriptions.
extension FakeStore {
    /// All deleted messages, and the losses of each generation of a subscription. For reference models.
    struct Deleted {
        /// The deleted messages, by sequence.
        var messages: [UInt64: Message] = [:]
        /// The messages in the reported losses.
        var lost: [UInt64: Set<UInt64>] = [:]
        /// Those of `lost` that the subscription would have received: they also matched its object filter, and one of
        /// its owner's identities was allowed to receive them.
        var lostOfSubscription: [UInt64: Set<UInt64>] = [:]
        /// The messages of which no copy could be made.
        var missing: [UInt64: Set<UInt64>] = [:]
        /// The messages of which a copy was made.
        var copied: [UInt64: Set<UInt64>] = [:]
    }

    /// Deletes the selected messages, as retention and purges do.
    ///
    /// - Parameter isDeleted: Whether to delete a message.
    func delete(isPurge: Bool = false, _ isDeleted: (Message) -> Bool) -> Deletion {
        var deletion = Deletion()
        deletion.isPurge = isPurge
        let gone = messages.filter(isDeleted)
        guard let last = gone.last?.sequence else { return deletion }
        for message in gone {
            deletion.usage[message.uid, default: StoredUsage()] += message.usage
            deleted.messages[message.sequence] = message
        }
        deletionMark += 1
        deletions += gone.map { (deletionMark, $0) }
        addLosses(of: gone, to: subscriptions.values.sorted { $0.id < $1.id }, &deletion)
        write(deletion.losses)
        deletedThrough = max(deletedThrough, last)
        let sequences = Set(gone.map(\.sequence))
        messages.removeAll { sequences.contains($0.sequence) }
        return deletion
    }

    /// Moves the cursors of a user's subscriptions to a sequence, as retention does if the backlog is too large. Unread
    /// messages up to this sequence are lost to the subscriptions, but stay stored.
    func release(of uid: UInt32, through end: UInt64) -> Deletion {
        var deletion = Deletion()
        let held = messages.filter { $0.sequence <= end }
        let behind = subscriptions.values.sorted { $0.id < $1.id }.filter { record in
            record.owner.uid == uid && record.progress.cursor < end
                && held.contains { $0.sequence > record.progress.cursor && $0.isNamed(by: record) }
        }
        addLosses(of: held, to: behind, &deletion)
        write(deletion.losses)
        for record in behind {
            subscriptions[record.id]?.progress = record.progress.raised(to: end)
            deletion.began(record.progress.generation, of: record.id)
            deletion.released[record.id] = end
        }
        return deletion
    }

    /// The names under which no message is stored any more.
    func removedNames(after deletion: Deletion) -> [[UInt8]] {
        guard !deletion.usage.isEmpty else { return [] }
        let names = Set(deleted.messages.values.map(\.name))
        return names.subtracting(messages.map(\.name)).sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func addLosses(of gone: [Message], to records: [DurableRecord], _ deletion: inout Deletion) {
        for record in records {
            let lost = record.progress.unacknowledged(of: gone.filter { $0.isNamed(by: record) }.map(\.sequence))
            guard let first = lost.first, let last = lost.last else { continue }
            deletion.began(record.progress.generation, of: record.id)
            deletion.add(
                Loss(
                    first: first, last: last, count: UInt64(lost.count),
                    isUpperBound: record.filter.object != nil || first <= record.progress.seenThrough),
                of: record.id)
            let generation = record.generation
            let access = ReadAccess(policy: AccessPolicy(), identities: record.owners)
            let own = gone.filter { lost.contains($0.sequence) && $0.matches(record.filter, access) }
            deleted.lost[generation, default: []].formUnion(lost)
            deleted.lostOfSubscription[generation, default: []].formUnion(own.map(\.sequence))
        }
    }

    /// Adds losses to the records. While a client is attached, they are upper bounds, because only the broker knows the
    /// deliveries.
    private func write(_ losses: [DurableID: Loss]) {
        for (id, var loss) in losses {
            loss.isUpperBound = loss.isUpperBound || subscriptions[id]?.progress.isAttached ?? false
            subscriptions[id]?.loss.add(loss)
        }
    }

    /// Deletes the messages in a range. All of them are recorded as lost to the subscription `name`, if it exists.
    func drop(_ range: ClosedRange<UInt64>, of name: String) -> Deletion {
        var deletion = Deletion()
        let gone = messages.filter { range.contains($0.sequence) }
        deletedThrough = max(deletedThrough, gone.last?.sequence ?? 0)
        messages.removeAll { range.contains($0.sequence) }
        for message in gone {
            deletion.usage[message.uid, default: StoredUsage()] += message.usage
        }
        guard let record = subscription(named: name), let first = gone.first, let last = gone.last else {
            return deletion
        }
        let loss = Loss(first: first.sequence, last: last.sequence, count: UInt64(gone.count), isUpperBound: false)
        subscriptions[record.id]?.loss.add(loss)
        deletion.losses[record.id] = loss
        return deletion
    }

    // MARK: Purging

    /// Deletes the next messages of a purge, and the dead letters of its messages.
    func purge(_ request: PurgeRequest) -> (deletion: Deletion, isLast: Bool) {
        let matching = messages.filter { message in
            (message.sequence < request.before && message.name.withUnsafeBytes { request.filter.matches(name: $0) })
                || message.isDeadLetter(purgedBy: request)
        }
        let part = Set(matching.prefix(purgeMessages).map(\.sequence))
        let isLast = part.count == matching.count
        var deletion = delete(isPurge: true) { part.contains($0.sequence) }
        if isLast { deleteCopies(of: request, &deletion) }
        return (deletion, isLast)
    }

    private func deleteCopies(of request: PurgeRequest, _ deletion: inout Deletion) {
        for (id, kept) in copies.sorted(by: { $0.key < $1.key }) {
            let gone = kept.filter { sequence, copy in
                sequence < request.before && copy.withMessage { request.filter.matches(name: $0.parts.name) }
            }.keys.sorted()
            guard let first = gone.first, let last = gone.last, let record = subscriptions[id] else { continue }
            removeCopies(gone, of: id)
            let loss = Loss(first: first, last: last, count: UInt64(gone.count), isUpperBound: true)
            deletion.began(record.progress.generation, of: id)
            deletion.copies[id] = gone
            deletion.add(loss, of: id)
            write([id: loss])
            deleted.copied[record.generation]?.subtract(gone)
            deleted.lost[record.generation, default: []].formUnion(gone)
            deleted.lostOfSubscription[record.generation, default: []].formUnion(gone)
        }
    }
}

extension FakeStore.Message {
    var usage: StoredUsage { name.withUnsafeBytes { StoredUsage(bytes: frame.count, name: $0) } }

    /// Whether the message is a dead letter whose original message a purge deletes.
    func isDeadLetter(purgedBy request: PurgeRequest) -> Bool {
        guard name.withUnsafeBytes({ DeadLetterHeaders.isDeadLetter($0) }) else { return false }
        return frame.withUnsafeBytes { bytes in
            let headers = (try? Delivery(reading: bytes.slice(from: FrameHeader.size)))
                .flatMap { DeadLetterHeaders(reading: $0.parts.headers) }
            guard let headers, headers.stamp.sequence < request.before else { return false }
            return Array(headers.name.utf8).withUnsafeBytes { request.filter.matches(name: $0) }
        }
    }

    /// Whether the subscription matches the message's name. Retention considers nothing else.
    func isNamed(by record: DurableRecord) -> Bool {
        name.withUnsafeBytes { record.filter.matches(name: $0) }
    }
}

extension DurableProgress {
    /// Returns those of the given ascending sequences that are not acknowledged.
    fileprivate func unacknowledged(of sequences: [UInt64]) -> [UInt64] {
        sequences.filter { !hasPassed($0) }
    }

    /// Whether a message is at or below the cursor, or acknowledged above it.
    func hasPassed(_ sequence: UInt64) -> Bool {
        sequence <= cursor || acknowledged.contains { $0.first <= sequence && sequence <= $0.last }
    }

    /// The progress with a cursor that is at least `sequence`.
    func raised(to sequence: UInt64) -> DurableProgress {
        guard sequence > cursor else { return self }
        var raised = self
        raised.cursor = sequence
        raised.acknowledged = acknowledged.compactMap { range in
            range.last > sequence ? SequenceRange(first: max(range.first, sequence + 1), last: range.last) : nil
        }
        return raised
    }
}
