import NotifyCenter
import NotifyLog
import NotifyWire

/// The durable subscriptions as committed, with the new progress of the batch that is being written, and an index of
/// their patterns. For retention, a message is read once the cursor of every subscription that matches its name has
/// passed it. Object filters, and acknowledged ranges above a cursor, are ignored.
struct StoredSubscriptions: ~Copyable {
    struct Subscription {
        let id: DurableID
        let uid: UInt32
        /// The identities that attached.
        fileprivate(set) var owners: [Identity]
        fileprivate(set) var hasObject: Bool
        var progress: DurableProgress
        /// The log's time at which a client was last attached, or the subscription last edited. While a client is
        /// attached, this can be the time of the client's attachment, or an earlier time.
        var used: Duration
        fileprivate var registration: UInt64

        /// Whether the owners may lack the right to some dead letters although they may receive the name of the dead
        /// letters: a dead letter also needs the right to the name of its original message.
        ///
        /// - Parameter policy: The access policy; nil if every name may be received.
        func mayLackDeadLetters(under policy: AccessPolicy?) -> Bool {
            guard let policy else { return false }
            return !owners.contains { policy.mayReceiveEverything($0) }
        }
    }

    private var center = CenterCore(resolutionCacheBytes: 0, reservedFirstToken: ReservedNames.daemonToken)
    private var subscriptions: [Int32: Subscription] = [:]
    private var slots: [DurableID: Int32] = [:]
    private var nextSlot: Int32 = 0
    /// Incremented when a subscription is created or edited, or its cursor is moved back: messages that were read may
    /// then be unread again.
    private(set) var creations = 0
    /// The number of edits of filters so far.
    private(set) var edits = 0

    /// The policy that decides which names the owners may receive; nil if they may receive every name.
    var policy: AccessPolicy?
    /// The bytes of the copies of each user's subscriptions.
    private(set) var copyBytes: [UInt32: Int] = [:]
    /// The state of a subscription before a change of the batch that is being written.
    private struct Earlier {
        let slot: Int32
        let progress: DurableProgress
        let used: Duration
    }

    private var earlier: [Earlier] = []
    /// Whether the batch that is being written changes the progress of a subscription that it creates.
    private var changesCreated = false

    // MARK: Batches

    /// Updates the progress of a subscription in the batch that is being written. Later changes of the batch build on
    /// this update.
    ///
    /// - Parameter isUse: Whether the update itself counts as use.
    /// - Returns: The progress and the last use to store.
    mutating func update(
        _ id: DurableID, _ progress: DurableProgress, at now: Duration, isUse: Bool = false
    ) -> (progress: DurableProgress, used: Duration) {
        guard let slot = slots[id], let index = subscriptions.index(forKey: slot) else {
            changesCreated = true
            return (progress, now)
        }
        let (stored, used) = (subscriptions.values[index].progress, subscriptions.values[index].used)
        earlier.append(Earlier(slot: slot, progress: stored, used: used))
        let raised = Self.raised(progress, from: stored)
        let use = isUse || stored.isAttached || progress.isAttached ? now : used
        if raised.cursor < stored.cursor { creations += 1 }
        subscriptions.values[index].progress = raised
        subscriptions.values[index].used = use
        return (raised, use)
    }

    /// Applies the changes of a committed batch.
    mutating func commit(_ batch: CommitBatch, at now: Duration) {
        for change in batch.changes { apply(change, at: now) }
        copyBytes = batch.copyBytes
        endBatch()
    }

    /// Forgets the changes of a batch that was not committed.
    mutating func rollBack() {
        for earlier in earlier.reversed() {
            subscriptions[earlier.slot]?.progress = earlier.progress
            subscriptions[earlier.slot]?.used = earlier.used
        }
        endBatch()
    }

    private mutating func endBatch() {
        earlier.removeAll(keepingCapacity: true)
        changesCreated = false
    }

    /// Applies a committed change. A change of progress was already applied by `update`, unless the batch has created
    /// the subscription. Applying it twice has no effect.
    private mutating func apply(_ change: DurableChange, at now: Duration) {
        switch change {
        case .create(let record): add(record, at: now)
        case .update(let id, let progress): if changesCreated { _ = update(id, progress, at: now) }
        case .replace(let record):
            replaceFilter(of: record)
            if changesCreated { _ = update(record.id, record.progress, at: now, isUse: true) }
        case .setOwner(let id, let owner, _):
            if let slot = slots[id] { subscriptions[slot]?.owners.attached(owner) }
        case .countDeleted, .addLoss, .forgetLoss, .keep, .forget, .delete: break
        case .remove(let id): remove(id)
        }
    }

    mutating func addCopies(bytes: Int, of uid: UInt32) {
        if bytes > 0 { copyBytes[uid, default: 0] += bytes }
    }

    // MARK: Definitions

    /// - Parameter now: The log's time.
    mutating func add(_ record: DurableRecord, at now: Duration) {
        remove(record.id)
        let slot = nextSlot
        nextSlot += 1
        creations += 1
        let registration = center.add(patterns: record.filter.patterns, slot: slot)
        slots[record.id] = slot
        subscriptions[slot] = Subscription(
            id: record.id, uid: record.owner.uid, owners: record.owners, hasObject: record.filter.object != nil,
            progress: record.progress, used: now, registration: registration)
    }

    private mutating func replaceFilter(of record: DurableRecord) {
        guard let slot = slots[record.id], let registration = subscriptions[slot]?.registration else { return }
        _ = center.remove(registration)
        subscriptions[slot]?.registration = center.add(patterns: record.filter.patterns, slot: slot)
        subscriptions[slot]?.hasObject = record.filter.object != nil
        creations += 1
        edits += 1
    }

    private mutating func remove(_ id: DurableID) {
        guard let slot = slots.removeValue(forKey: id), let gone = subscriptions.removeValue(forKey: slot) else {
            return
        }
        _ = center.remove(gone.registration)
    }

    // MARK: Progress

    /// The progress to store when the broker reports `progress`. The broker might not know yet that messages were
    /// released, so the stored cursor never moves back, unless it was reset. Progress of an earlier generation is not
    /// stored.
    private static func raised(_ progress: DurableProgress, from stored: DurableProgress) -> DurableProgress {
        if stored.generation > progress.generation { return stored }
        guard stored.generation == progress.generation, stored.cursor > progress.cursor else { return progress }
        return progress.raised(to: stored.cursor)
    }

    /// The generation of a subscription's cursor; nil if there is no such subscription.
    func generation(of id: DurableID) -> UInt32? { slots[id].flatMap { subscriptions[$0]?.progress.generation } }

    /// Whether a client is attached to the subscription.
    func isAttached(_ id: DurableID) -> Bool { slots[id].flatMap { subscriptions[$0]?.progress.isAttached } ?? false }

    /// Moves the cursor of a subscription past messages that the subscription no longer holds back.
    mutating func release(_ id: DurableID, through sequence: UInt64) {
        guard let slot = slots[id], let progress = subscriptions[slot]?.progress else { return }
        subscriptions[slot]?.progress = progress.raised(to: sequence)
    }

    mutating func setLastUse(of id: DurableID, _ time: Duration) {
        if let slot = slots[id] { subscriptions[slot]?.used = time }
    }

    /// At most `limit` subscriptions that have no client and were not used after a time.
    func unused(since time: Duration, limit: Int) -> Set<DurableID> {
        Set(subscriptions.values.lazy.filter { !$0.progress.isAttached && $0.used <= time }.map(\.id).prefix(limit))
    }

    /// The earliest last use of a subscription without a client; nil if there is none.
    var lowestUse: Duration? { subscriptions.values.lazy.filter { !$0.progress.isAttached }.map(\.used).min() }

    // MARK: Names

    /// The claims of users on a name: for each user with matching subscriptions, their lowest cursor. In the order of
    /// the users.
    mutating func claims(on name: UnsafeRawBufferPointer) -> [RetentionSurvey.Claim] {
        var claims: [RetentionSurvey.Claim] = []
        for registration in center.resolve(name: name, object: nil).registrations {
            guard let subscription = subscriptions[registration.slot] else { continue }
            claims.append(.init(uid: subscription.uid, cursor: subscription.progress.cursor))
        }
        guard claims.count > 1 else { return claims }
        return Dictionary(claims.map { ($0.uid, $0.cursor) }) { min($0, $1) }
            .sorted { $0.key < $1.key }.map { .init(uid: $0.key, cursor: $0.value) }
    }

    /// The lowest cursor of the subscriptions of some users.
    func lowestCursor(of uids: some Collection<UInt32>) -> UInt64? {
        subscriptions.values.lazy.filter { uids.contains($0.uid) }.map(\.progress.cursor).min()
    }

    /// Every subscription with its slot.
    var all: [(slot: Int32, Subscription)] { subscriptions.map { ($0.key, $0.value) } }

    /// The slots of the subscriptions that match the name and whose owners may receive it. Names with the same
    /// subscriptions get equal arrays.
    mutating func slots(for name: UnsafeRawBufferPointer, under policy: AccessPolicy?) -> [Int32] {
        let slots = center.resolve(name: name, object: nil).registrations.map(\.slot)
        guard let policy, !slots.isEmpty, !policy.isOpen(name) else { return slots }
        let rules = policy.nameRules(.subscribe, name)
        return slots.filter { subscriptions[$0]?.owners.contains { policy.permits(rules, $0) } ?? false }
    }

    /// The subscriptions whose cursor is below `sequence`.
    func behind(_ sequence: UInt64) -> some Collection<Subscription> {
        subscriptions.values.lazy.filter { $0.progress.cursor < sequence }
    }

    /// The subscriptions that match the name and have not read all of its messages up to `sequence`.
    mutating func behind(_ sequence: UInt64, for name: UnsafeRawBufferPointer) -> [Subscription] {
        center.resolve(name: name, object: nil).registrations
            .compactMap { subscriptions[$0.slot] }.filter { $0.progress.cursor < sequence }
    }
}

extension DurableProgress {
    /// The sequences that are not acknowledged. `sequences` must ascend.
    func unacknowledged(of sequences: [UInt64]) -> [UInt64] {
        var ranges = acknowledged[...]
        return sequences.filter { sequence in
            while let range = ranges.first, range.last < sequence { ranges.removeFirst() }
            return sequence > cursor && ranges.first.map { $0.first > sequence } ?? true
        }
    }

    /// The progress with the cursor raised to at least `sequence`.
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
