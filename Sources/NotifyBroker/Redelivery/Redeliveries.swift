import DequeModule
import HeapModule
import NotifyLog
import NotifyWire

/// The messages that the cursor of a durable subscription has passed although they are not finished: neither
/// acknowledged, nor dropped, nor stored as a dead letter. The log has a copy of each message, or gets the copy with a
/// later batch. A pure state machine.
struct Redeliveries {
    private struct Timer: Comparable {
        let time: Duration
        let sequence: UInt64

        static func < (left: Timer, right: Timer) -> Bool { (left.time, left.sequence) < (right.time, right.sequence) }
    }

    /// The memory of a message, in bytes: entry, timer and holders.
    private static let messageBytes = 320
    /// The cost of a change, in units of `FairScheduler`.
    private static let changeWork = 32

    var messages: [UInt64: Message] = [:]
    /// For each member, the messages that it may acknowledge.
    var held: [MemberID: Set<UInt64>] = [:]
    /// The times of `waiting` and `inFlight`. Some are out of date.
    private var timers = Heap<Timer>()
    /// Due messages whose rights are not evaluated, in the order in which they became due. Some entries are out of
    /// date.
    var due: Deque<UInt64> = []
    /// Due messages whose rights are evaluated, by their rights. Some entries are out of date.
    var evaluatedDue: [MessageRights: Deque<UInt64>] = [:]
    /// Whether the rights to some message may be known.
    var areRightsKnown = false
    /// Whether the rights are those of an earlier policy.
    var areRightsOutdated = false
    /// The withheld messages (see `Message.isWithheld`), including messages whose copies are not in the log yet.
    private(set) var withheld = WithheldCopies()
    /// Messages that must become dead letters and whose row the log has. Some entries are out of date.
    var dead: Deque<UInt64> = []
    var unsaved = UnsavedReasons()
    /// The reasons in the batch in flight.
    private var saving = UnsavedReasons()
    private(set) var bytes = 0
    /// The bytes of the messages without a copy in the log.
    private(set) var uncopiedBytes = 0
    /// Further messages are delivered only while the copies take fewer bytes than this. Withheld copies do not count.
    /// Lower while the log, or the owner's share of it, has no room.
    var maximumBytes = Redelivery.maximumBytes
    /// The work done, in units of `FairScheduler`.
    var work = 0
    /// The number of messages that are due or being read, and whose copy the log has.
    private(set) var dueCount = 0
    private(set) var inFlightCount = 0

    /// Restores the messages from the log.
    init(_ records: [Redelivery] = [], now: BrokerTime = BrokerTime(monotonic: .zero, wallMicroseconds: 0)) {
        for record in records {
            // The wait is limited to the longest one that a setting permits.
            let wait = min(record.delayMicroseconds, DurableSettingChanges.maximumSpan)
            add(
                record, record.isDead ? .deadLetter : .wait(microseconds: wait, now: now), isStored: true,
                holder: nil)
        }
    }

    var count: Int { messages.count }
    var isEmpty: Bool { messages.isEmpty }
    var byteCount: Int { messages.count * Self.messageBytes + unsaved.byteCount + saving.byteCount }
    var hasUnsaved: Bool { !unsaved.isEmpty }
    /// The number of messages whose rows in the log are out of date.
    var unsavedCount: Int { unsaved.count + saving.count }
    /// Whether copies may have to be read, for due messages or for dead letters.
    var hasWork: Bool { !due.isEmpty || !evaluatedDue.isEmpty || hasDead }
    /// Whether messages may have to become dead letters. May be true because of outdated entries.
    var hasDead: Bool { !dead.isEmpty }
    /// Whether messages certainly have to become dead letters.
    var isAwaitingDeadLetters: Bool { dead.contains { messages[$0]?.state == .dead } }
    /// The time at which a message becomes due or a deadline passes; nil if there is none. May be too early.
    var nextTime: Duration? { timers.min?.time }

    /// Whether there would be no room for further messages if the messages in flight for the first time failed.
    // Inlined, so that the caller need not copy the subscription.
    @inline(__always)
    func isFull(withInFlight count: Int, bytes: Int) -> Bool {
        self.count + count >= Redelivery.maximumCount || self.bytes + bytes >= Redelivery.maximumBytes
            || self.bytes - withheld.bytes + bytes >= maximumBytes
    }

    /// Whether there is room for the copy of a dead letter's message. Unlike `isFull`, ignores `maximumBytes`, which is
    /// lower while the owner's share has no room: the share counts copies and dead letters together, and this copy
    /// takes the place of the dead letter.
    var hasRoomForRetry: Bool { count < Redelivery.maximumCount && bytes < Redelivery.maximumBytes }

    /// The state of a message; nil if it is finished or unknown.
    func state(of sequence: UInt64) -> State? { messages[sequence]?.state }
    func failures(of sequence: UInt64) -> UInt32 { messages[sequence]?.failures ?? 0 }

    // MARK: Adding and removing

    /// Adds a message that a member has received with its first delivery.
    mutating func add(
        _ sequence: UInt64, _ next: Next, failures: UInt32, bytes: UInt32, holder: MemberID, reason: String = ""
    ) {
        add(
            Redelivery(sequence: sequence, failures: failures, bytes: bytes), next, isStored: false, holder: holder)
        unsaved[sequence] = reason
    }

    /// Adds a message that no member has received.
    mutating func add(_ sequence: UInt64, _ next: Next, bytes: UInt32) {
        add(Redelivery(sequence: sequence, bytes: bytes), next, isStored: false, holder: nil)
        unsaved[sequence] = ""
    }

    /// Adds a message that the next batch copies, and returns its row.
    mutating func addCopied(_ sequence: UInt64, bytes: UInt32) -> Redelivery {
        remove(sequence)
        unsaved[sequence] = nil
        let row = Redelivery(sequence: sequence, bytes: bytes)
        add(row, .due, isStored: false, holder: nil)
        return row
    }

    private mutating func add(_ record: Redelivery, _ next: Next, isStored: Bool, holder: MemberID?) {
        remove(record.sequence)
        messages[record.sequence] = Message(
            state: .deadLettering, failures: record.failures, bytes: record.bytes, isStored: isStored)
        bytes += Int(record.bytes)
        if !isStored { uncopiedBytes += Int(record.bytes) }
        if let holder { addHolder(holder, of: record.sequence) }
        set(next.state, of: record.sequence)
    }

    /// Removes a message whose copy could not be made or was deleted.
    mutating func discard(_ sequence: UInt64) {
        remove(sequence)
        unsaved[sequence] = nil
    }

    /// Removes a message that is finished.
    mutating func remove(_ sequence: UInt64) {
        guard let message = messages[sequence] else { return }
        work += Self.changeWork
        leave(message)
        if message.isWithheld { withheld.removed(bytes: message.bytes) }
        for holder in message.holders { removeHeld(sequence, by: holder) }
        bytes -= Int(message.bytes)
        if !message.isStored { uncopiedBytes -= Int(message.bytes) }
        messages[sequence] = nil
        unsaved[sequence] = ""
    }

    // MARK: States

    /// Sets the next step of a message.
    mutating func change(_ sequence: UInt64, to next: Next, failures: UInt32, reason: String = "") {
        guard messages[sequence] != nil else { return }
        update(sequence) { $0.failures = failures }
        unsaved[sequence] = reason
        if case .inFlight(let member, _)? = messages[sequence]?.state, hasManyHeld(member) {
            release(sequence, by: member)
        }
        set(next.state, of: sequence)
    }

    /// Postpones the deadline of a message in flight.
    mutating func extend(_ sequence: UInt64, to deadline: Duration) {
        guard case .inFlight(let member, _)? = messages[sequence]?.state else { return }
        set(.inFlight(member, deadline: deadline), of: sequence)
    }

    mutating func set(_ state: State, of sequence: UInt64) {
        guard let message = messages[sequence] else { return }
        work += Self.changeWork
        leave(message)
        update(sequence) { $0.state = state }
        switch state {
        case .waiting(let until): timers.insert(Timer(time: until, sequence: sequence))
        case .due: if message.isStored { becameDue(sequence) }
        case .reading: dueCount += 1
        case .inFlight(_, let deadline):
            inFlightCount += 1
            if let deadline { timers.insert(Timer(time: deadline, sequence: sequence)) }
        // The row must be up to date, because the reason of the last failure is read from the log.
        case .dead: if message.isStored, unsaved[sequence] == nil { dead.append(sequence) }
        case .deadLettering: break
        }
        if timers.count > 2 * messages.count + 64 { rebuildTimers() }
    }

    /// Changes a message, and updates the totals of withheld messages.
    mutating func update(_ sequence: UInt64, _ change: (inout Message) -> Void) {
        guard var message = messages[sequence] else { return }
        let wasWithheld = message.isWithheld
        change(&message)
        messages[sequence] = message
        guard message.isWithheld != wasWithheld else { return }
        guard message.isWithheld else { return withheld.removed(bytes: message.bytes) }
        withheld.add(sequence, bytes: message.bytes)
        if withheld.isSparse { compactWithheld() }
    }

    private mutating func compactWithheld() {
        let messages = messages
        withheld.compact { messages[$0]?.isWithheld ?? false }
    }

    /// Takes the oldest withheld message; nil if there is none.
    mutating func takeOldestWithheld() -> UInt64? {
        while let sequence = withheld.takeOldest() {
            if messages[sequence]?.isWithheld ?? false { return sequence }
        }
        return nil
    }

    // MARK: Saving

    /// Takes the messages whose rows are out of date, with the reasons of their last failures, for the next batch.
    mutating func beginSaving() -> [UInt64: String] {
        saving = unsaved
        unsaved = UnsavedReasons()
        return saving.all
    }

    /// Ends the saving of the batch in flight.
    mutating func endSaving() { saving = UnsavedReasons() }

    /// The reason of a message's last failure, if the log does not have it yet; otherwise nil.
    func unsavedReason(of sequence: UInt64) -> String? { unsaved[sequence] ?? saving[sequence] }

    /// Records that the log has the copy of a message.
    mutating func copied(_ sequence: UInt64) {
        guard let message = messages[sequence], !message.isStored else { return }
        messages[sequence]?.isStored = true
        uncopiedBytes -= Int(message.bytes)
    }

    /// Records that the log no longer has the copy of a message in flight.
    mutating func uncopied(_ sequence: UInt64) {
        guard let message = messages[sequence], message.isStored else { return }
        messages[sequence]?.isStored = false
        uncopiedBytes += Int(message.bytes)
    }

    mutating func becameDue(_ sequence: UInt64) {
        dueCount += 1
        if let rights = messages[sequence]?.rights, rights != .unknown {
            evaluatedDue[rights, default: []].append(sequence)
            if evaluatedDue[rights]?.count ?? 0 > 2 * messages.count + 64 { compactDue(rights) }
        } else {
            due.append(sequence)
        }
    }

    private mutating func leave(_ message: Message) {
        switch message.state {
        case .due: if message.isStored { dueCount -= 1 }
        case .reading: dueCount -= 1
        case .inFlight: inFlightCount -= 1
        case .waiting, .dead, .deadLettering: break
        }
    }

    private mutating func rebuildTimers() {
        timers = Heap(
            messages.compactMap { sequence, message in
                message.state.time.map { Timer(time: $0, sequence: sequence) }
            })
    }

    // MARK: Time

    /// Makes due the messages that have waited until their time.
    ///
    /// - Parameter maximumCount: The maximum number of timers that are handled. The others stay.
    /// - Returns: The messages in flight whose deadline has passed.
    mutating func takeExpired(now: Duration, maximumCount: Int = .max) -> [(sequence: UInt64, member: MemberID)] {
        var expired: [(sequence: UInt64, member: MemberID)] = []
        var count = 0
        while count < maximumCount, let timer = timers.min, timer.time <= now {
            count += 1
            timers.removeMin()
            guard let state = messages[timer.sequence]?.state, state.time == timer.time else { continue }
            switch state {
            // A deadline that was extended to the same time has two timers, but is reported once.
            case .inFlight(let member, _) where expired.last?.sequence != timer.sequence:
                expired.append((timer.sequence, member))
            case .waiting: set(.due, of: timer.sequence)
            default: break
            }
        }
        return expired
    }
}
