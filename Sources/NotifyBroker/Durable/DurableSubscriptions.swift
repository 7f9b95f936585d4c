import HeapModule
import NotifyCenter
import NotifyLog
import NotifyWire

/// All durable subscriptions, the set of those with unpersisted progress, and their timers.
struct DurableSubscriptions {
    private struct Timer: Comparable {
        let time: Duration
        let slot: DurableSlot

        static func < (left: Timer, right: Timer) -> Bool { (left.time, left.slot) < (right.time, right.slot) }
    }

    private var table = SlotTable<PlainSlotID, DurableSubscription>()
    private var slotsByKey: [DurableKey: DurableSlot] = [:]
    private var slotsByID: [DurableID: DurableSlot] = [:]
    private(set) var nextID: DurableID
    /// Whether every subscription of the log is known. If not, the content of the log is damaged, and nothing can be
    /// stored.
    let areComplete: Bool
    /// Subscriptions with progress to persist.
    private var unsaved: Set<DurableSlot> = []
    /// The current time, for deadlines.
    private(set) var time = BrokerTime(monotonic: .zero, wallMicroseconds: 0)
    /// The current time in coarse units, cached at its first use, because the conversion takes 150 instructions.
    private var coarseNow: CoarseTime?
    /// The timers of subscriptions. Some are out of date.
    private var timers = Heap<Timer>()

    var unsavedRedeliveries = UnsavedRedeliveries()
    var redeliveryReads = RedeliveryReads()
    var backlogs = Backlogs()
    var lossLog = LossLog()
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

    func contains(_ slot: DurableSlot) -> Bool { table.isUsed(slot.index) }

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
    mutating func add(
        _ record: DurableRecord, redeliveries: Redeliveries = Redeliveries(), identities: [IdentityID]
    ) -> DurableSlot {
        let id = table.insert { _ in
            DurableSubscription(record, redeliveries: redeliveries, identities: identities)
        }
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

    /// Adds a member, and returns its index.
    mutating func attach(_ slot: DurableSlot, _ attachment: Attachment, credit: UInt32) -> Int {
        if !self[slot].hasMembers { attachedCount += 1 }
        return self[slot].attached(attachment, credit: credit)
    }

    /// Records the reader that was opened for a committed attachment.
    mutating func opened(_ reader: ReaderID, of slot: DurableSlot) {
        self[slot].reader = reader
    }

    /// Ends the attachments of all members.
    mutating func detachAll(_ slot: DurableSlot) {
        if self[slot].hasMembers { attachedCount -= 1 }
        self[slot].detached()
        noteProgress(slot)
    }

    /// Ends the attachments of some members.
    mutating func detach(
        _ slot: DurableSlot, _ indices: [Int], _ ending: DurableSubscription.Ending, now: BrokerTime
    ) {
        let wasAttached = self[slot].hasMembers
        self[slot].detached(indices, ending, now: now)
        if wasAttached, !self[slot].hasMembers { attachedCount -= 1 }
        noteProgress(slot)
    }

    /// Acknowledges those messages in the ranges that were delivered to the member.
    ///
    /// - Throws: `notDelivered` if a range ends above the highest sequence delivered to the member. No message is then
    ///   acknowledged.
    mutating func acknowledged(
        _ ranges: [SequenceRange], of slot: DurableSlot, by index: Int, now: BrokerTime
    ) throws(WireError) {
        try table.update(slot.index) { (durable) throws(WireError) in
            try durable.acknowledged(ranges, by: index, now: now)
        }
        noteProgress(slot)
    }

    /// Records that a member rejects a message.
    ///
    /// - Throws: `notDelivered` if the sequence is above the highest one delivered to the member.
    mutating func rejected(
        _ reject: Reject, of slot: DurableSlot, by index: Int, now: BrokerTime
    ) throws(WireError) {
        try table.update(slot.index) { (durable) throws(WireError) in
            try durable.rejected(reject, by: index, now: now)
        }
        noteProgress(slot)
    }

    // MARK: Timers

    /// Must be called before messages are delivered.
    mutating func setTime(_ time: BrokerTime) {
        self.time = time
        coarseNow = nil
    }

    /// Records the first delivery of a message to a member, unless the message is skipped.
    @inline(__always)
    mutating func take(
        _ sequence: UInt64, bytes: UInt32, of slot: DurableSlot, for member: Int
    ) -> Bool {
        let time = coarseTime()
        return table.update(slot.index) { $0.take(sequence, bytes: bytes, for: member, at: time) }
    }

    /// Records the first deliveries of several messages to a member, as ``DurableSubscription`` does.
    mutating func take(_ entries: ArraySlice<LogBlock.Entry>, of slot: DurableSlot, for member: Int) -> Int {
        let time = coarseTime()
        return table.update(slot.index) { $0.take(entries, for: member, at: time) }
    }

    /// Moves a matching message to the redeliveries before its first delivery, as ``DurableSubscription`` does.
    mutating func withhold(
        _ entry: LogBlock.Entry, _ rights: MessageRights, of slot: DurableSlot, at member: Int
    ) {
        let time = coarseTime()
        table.update(slot.index) {
            $0.withhold(entry.sequence, bytes: entry.length, rights: rights, at: time, member)
        }
    }

    /// The next member to get a message; nil if none has room. The caller checks the room of the member's connection.
    @inline(__always)
    mutating func candidate(of slot: DurableSlot) -> Int? {
        self[slot].turnHolder ?? table.update(slot.index) { $0.candidate() }
    }

    /// The current time, for messages in flight.
    private mutating func coarseTime() -> CoarseTime {
        if let coarseNow { return coarseNow }
        let time = CoarseTime(time.monotonic)
        coarseNow = time
        return time
    }

    /// The time at which `takeTimer` must be called; nil if there is none. May be too early.
    var nextTime: Duration? { timers.min?.time }

    /// Sets the timer of a subscription to its next deadline or due time.
    mutating func setTimer(_ slot: DurableSlot, now: Duration) {
        guard let time = self[slot].nextTime(now: now) else { return }
        if let timer = self[slot].timer, timer <= time { return }
        self[slot].timer = time
        timers.insert(Timer(time: time, slot: slot))
        if timers.count > 2 * table.count + 64 { rebuildTimers() }
    }

    /// Sets the timer of a subscription for messages that were just delivered for the first time, if they have a
    /// deadline that is earlier than the timer.
    mutating func setDeadlineTimer(_ slot: DurableSlot) {
        guard let deadline = self[slot].deadline(from: time.monotonic) else { return }
        if let timer = self[slot].timer, timer <= deadline { return }
        setTimer(slot, now: time.monotonic)
    }

    /// Removes the timers that are out of date.
    private mutating func rebuildTimers() {
        timers = Heap(
            table.indices.compactMap { index in
                table[index].timer.map { Timer(time: $0, slot: DurableSlot(Int32(index))) }
            })
    }

    /// Takes the next subscription whose timer has passed; nil if there is none.
    mutating func takeTimer(now: Duration) -> DurableSlot? {
        while let timer = timers.min, timer.time <= now {
            timers.removeMin()
            guard table.isUsed(timer.slot.index), self[timer.slot].timer == timer.time else { continue }
            self[timer.slot].timer = nil
            return timer.slot
        }
        return nil
    }

    // MARK: Progress

    /// Marks the subscription's progress for the next batch that contains progress.
    mutating func noteProgress(_ slot: DurableSlot) {
        unsaved.insert(slot)
    }

    var hasUnsavedProgress: Bool { !unsaved.isEmpty }

    /// Takes the unpersisted progress.
    mutating func takeProgress(now: Duration) -> UnsavedProgress {
        var progress = UnsavedProgress(slots: unsaved)
        unsaved = []
        for slot in progress.slots.sorted() where self[slot].state != .removing {
            // `update` is used because the subscript would copy the subscription.
            table.update(slot.index) { $0.takeProgress(into: &progress, now: now) }
        }
        return progress
    }

    /// Records that the redeliveries of a batch are in the log.
    mutating func saved(_ redeliveries: [DurableID: Redeliveries.Unsaved]) {
        for (id, saved) in redeliveries {
            if let slot = slot(of: id) {
                self[slot].saved(saved.reasons.keys.sorted())
            }
        }
    }

    /// Marks the redeliveries of a failed batch for the next batch.
    mutating func saveFailed(_ redeliveries: [DurableID: Redeliveries.Unsaved]) {
        for (id, failed) in redeliveries {
            if let slot = slot(of: id) { self[slot].saveFailed(failed) }
        }
    }

    /// Marks the losses of a failed batch for the next batch.
    mutating func saveFailed(_ losses: [DurableID: Loss]) {
        for (id, loss) in losses {
            if let slot = slot(of: id) { self[slot].saveFailed(loss) }
        }
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
