import NotifyCenter
import NotifyLog
import NotifyWire

/// The slot of a durable subscription, valid until the subscription is removed.
struct DurableSlot: Hashable, Comparable, Sendable {
    let rawValue: Int32

    init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    var index: Int { Int(rawValue) }

    static func < (left: DurableSlot, right: DurableSlot) -> Bool { left.rawValue < right.rawValue }
}

/// Identifies a durable subscription to clients. Names are unique per user.
struct DurableKey: Hashable, Comparable {
    var uid: UInt32
    var name: String

    static func < (left: DurableKey, right: DurableKey) -> Bool { (left.uid, left.name) < (right.uid, right.name) }
}

/// Progress that is not persisted yet.
struct UnsavedProgress {
    var slots: Set<DurableSlot> = []
    /// The changes that persist the progress.
    var changes: [DurableChange] = []
    /// The losses that the changes remove from the log.
    var passedLosses: [PassedLoss] = []
}

/// All durable subscriptions, and the set of those with unpersisted progress.
struct DurableSubscriptions {
    private var table = SlotTable<PlainSlotID, DurableSubscription>()
    private var slotsByKey: [DurableKey: DurableSlot] = [:]
    private var slotsByID: [DurableID: DurableSlot] = [:]
    private(set) var nextID: DurableID
    /// Whether every subscription of the log is known. If not, the log is damaged, and nothing can be stored.
    let areComplete: Bool
    /// Subscriptions with progress to persist.
    private var unsaved: Set<DurableSlot> = []

    /// The number of subscriptions with a member.
    private(set) var attachedCount = 0

    /// - Parameter nextID: The next id to assign.
    init(nextID: DurableID, areComplete: Bool = true) {
        self.nextID = nextID
        self.areComplete = areComplete
    }

    var count: Int { slotsByKey.count }
    var slots: [DurableSlot] { table.indices.map { DurableSlot(Int32($0)) } }
    var keys: some Sequence<DurableKey> { slotsByKey.keys }

    func slot(of key: DurableKey) -> DurableSlot? { slotsByKey[key] }
    func slot(of id: DurableID) -> DurableSlot? { slotsByID[id] }

    subscript(slot: DurableSlot) -> DurableSubscription {
        @inline(__always) _read { yield table[slot.index] }
        @inline(__always) _modify { yield &table[slot.index] }
    }

    /// Whether the registration belongs to the current subscription in the slot.
    func isCurrent(_ registration: UInt64, at slot: DurableSlot) -> Bool {
        table.isUsed(slot.index) && table[slot.index].registration == registration
    }

    // MARK: Creation and removal

    /// Takes the next id.
    ///
    /// - Throws: `limitReached` if no id is left.
    mutating func takeID() throws(WireError) -> DurableID {
        let id = nextID
        guard id.rawValue < .max else {
            throw WireError(.limitReached, "no id is left for another durable subscription in this log")
        }
        nextID = DurableID(id.rawValue + 1)
        return id
    }

    /// Adds a subscription. The caller must register the subscription in the center.
    mutating func add(_ record: DurableRecord, owner: IdentityID) -> DurableSlot {
        let id = table.insert { _ in DurableSubscription(record, owner: owner) }
        let slot = DurableSlot(Int32(id.index))
        slotsByKey[DurableKey(uid: record.owner.uid, name: record.name)] = slot
        slotsByID[record.id] = slot
        return slot
    }

    /// Removes and returns a subscription, which must not have a member.
    mutating func remove(_ slot: DurableSlot) -> DurableSubscription {
        let removed = self[slot]
        slotsByKey[DurableKey(uid: removed.uid, name: removed.name)] = nil
        slotsByID[removed.id] = nil
        unsaved.remove(slot)
        table.remove(slot.index)
        return removed
    }

    // MARK: Members

    mutating func attach(_ slot: DurableSlot, _ attachment: Attachment, credit: UInt32) {
        self[slot].attached(attachment, credit: credit)
        attachedCount += 1
    }

    /// Records the reader that was opened for a committed attachment.
    mutating func opened(_ reader: ReaderID, of slot: DurableSlot) {
        self[slot].reader = reader
    }

    mutating func setOwner(_ owner: IdentityID, of slot: DurableSlot) {
        self[slot].owner = owner
    }

    mutating func detach(_ slot: DurableSlot) {
        if self[slot].member != nil { attachedCount -= 1 }
        self[slot].detached()
        noteProgress(slot)
    }

    /// Acknowledges those messages in the ranges that were delivered to the current member.
    ///
    /// - Throws: `notDelivered` if a range ends above the highest sequence delivered to the member. No message is then
    ///   acknowledged.
    mutating func acknowledged(_ ranges: [SequenceRange], of slot: DurableSlot) throws(WireError) {
        try table.update(slot.index) { (durable) throws(WireError) in try durable.acknowledged(ranges) }
        noteProgress(slot)
    }

    // MARK: Progress

    /// Marks the subscription's progress for the next batch.
    mutating func noteProgress(_ slot: DurableSlot) {
        unsaved.insert(slot)
    }

    var hasUnsavedProgress: Bool { !unsaved.isEmpty }

    /// Takes the unpersisted progress.
    mutating func takeProgress() -> UnsavedProgress {
        var progress = UnsavedProgress(slots: unsaved)
        unsaved = []
        for slot in progress.slots.sorted() where self[slot].state != .removing {
            progress.changes.append(.update(id: self[slot].id, self[slot].progress))
            guard let loss = self[slot].passedLoss else { continue }
            progress.changes.append(.forgetLoss(id: loss.id, through: loss.last))
            progress.passedLosses.append(loss)
        }
        return progress
    }

    /// Records that a batch has removed losses from the log.
    mutating func forgotten(_ losses: [PassedLoss]) {
        for loss in losses {
            if let slot = slot(of: loss.id) { self[slot].forgotten(loss) }
        }
    }

    /// Marks the progress of a failed batch for the next batch.
    mutating func progressFailed(_ slots: Set<DurableSlot>) {
        unsaved.formUnion(slots.filter { table.isUsed($0.index) && self[$0].state != .removing })
    }
}
