import NotifyLog
import NotifyWire

/// A durable subscription: its filter and cursor, which are persisted, and the attached member. A pure state machine.
///
/// At most one member is attached at a time. A log reader delivers messages to the member.
struct DurableSubscription {
    enum State: Equatable {
        case detached
        /// The attachment is not committed yet. No messages are delivered.
        case attaching
        case attached
        /// The removal is pending.
        case removing
    }

    /// The maximum number of messages in flight, as a multiple of the window. The messages in flight include
    /// acknowledged messages above the cursor.
    private static let spanWindows = 8
    /// The maximum number of messages in flight besides a window of them. Limits the acknowledged ranges to persist.
    private static let maximumSpan = 8_192

    let id: DurableID
    let name: String
    private(set) var filter: SubscriptionFilter
    let uid: UInt32
    /// The sequence after which the subscription began. Also 0 if the start is unknown.
    private(set) var startedAfter: UInt64
    let createdMicroseconds: UInt64
    /// The committed attachment of the client that attached last.
    var lastAttachment: LastAttachment
    /// The id of the registration in the center. Ids ascend, so a later subscription in the same slot has a higher id.
    var registration: UInt64 = 0
    /// The identity whose rights apply to deliveries.
    var owner: IdentityID
    /// The log reader, while a client is attached.
    var reader: ReaderID?

    private(set) var losses: LossRecord
    /// The reset or edit whose commit is pending. Its effect is already in force.
    private(set) var pendingChange: PendingChange?

    private(set) var state = State.detached
    private(set) var cursor: Cursor
    private(set) var member: Member?
    private var nextMemberID = MemberID(rawValue: 0)
    /// The bytes charged to the user, as of the last `charge`.
    private(set) var chargedBytes = 0

    init(_ record: DurableRecord, owner: IdentityID) {
        id = record.id
        name = record.name
        filter = record.filter
        uid = record.owner.uid
        startedAfter = record.startedAfter
        createdMicroseconds = record.createdMicroseconds
        lastAttachment = record.lastAttachment
        self.owner = owner
        cursor = Cursor(record.progress)
        losses = LossRecord(record.loss)
    }

    /// The progress to persist.
    var progress: DurableProgress { cursor.progress(isAttached: member != nil) }

    /// Identifies the committed cursor for clients. Changes when the subscription is removed and created again, and when
    /// the cursor is reset.
    var generation: UInt64 { UInt64(id.rawValue) << 32 | UInt64(committedCursor.generation) }

    // MARK: Memory

    /// The memory besides filter and cursor, in bytes.
    private static let ownBytes = 1024

    /// Sets the charge to the memory in use.
    ///
    /// - Returns: The change of the charge in bytes.
    mutating func charge() -> Int {
        let bytes = Self.ownBytes + filter.byteCount + cursor.byteCount
        defer { chargedBytes = bytes }
        return bytes - chargedBytes
    }

    // MARK: Attaching

    enum AttachDecision: Equatable {
        /// No client is attached.
        case free
        /// The same client is attached on an earlier connection, which loses the subscription.
        case takeOver(from: Attachment)
        case refused(WireError, holderPID: UInt32)
    }

    /// Decides whether a client may attach on a connection.
    func attachRequested(
        by instance: InstanceID, on connection: ConnectionID, filter: SubscriptionFilter
    ) -> AttachDecision {
        guard self.filter == filter else {
            return .refused(mismatch(with: filter), holderPID: 0)
        }
        if state == .removing {
            return .refused(
                WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed"), holderPID: 0)
        }
        guard let attachment = member?.attachment else { return .free }
        guard attachment.connection != connection else {
            return .refused(
                WireError(
                    .subscriptionInUse,
                    "durable subscription '\(name)' is attached on this connection: detach it first"),
                holderPID: attachment.pid)
        }
        guard attachment.instance == instance else {
            return .refused(
                WireError(.subscriptionHeld, "durable subscription '\(name)' is held by process \(attachment.pid)"),
                holderPID: attachment.pid)
        }
        return .takeOver(from: attachment)
    }

    mutating func attached(_ attachment: Attachment, credit: UInt32) {
        member = Member(attachment, id: nextMemberID, credit: credit)
        nextMemberID = nextMemberID.next
        state = .attaching
    }

    /// Records that an attachment is committed.
    ///
    /// - Returns: False if the attachment is no longer the current one.
    mutating func attachmentCommitted(_ attachment: Attachment) -> Bool {
        guard state == .attaching, member?.attachment == attachment else { return false }
        state = .attached
        return true
    }

    /// Ends the attachment, if there is one. The next attachment begins with the unacknowledged messages.
    mutating func detached() {
        guard member != nil else { return }
        member = nil
        reader = nil
        state = .detached
        cursor.rewind()
    }

    // MARK: Removal

    mutating func removalRequested() throws(WireError) {
        switch state {
        case .detached:
            state = .removing
        case .removing:
            throw WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed already")
        case .attaching, .attached:
            throw WireError(
                .subscriptionInUse,
                "durable subscription '\(name)' is held by process \(member?.attachment.pid ?? 0): "
                    + "stop that process first")
        }
    }

    mutating func removalFailed() {
        if state == .removing { state = .detached }
    }

    // MARK: Resetting and editing

    /// A reset or edit whose commit is pending, with what it has replaced.
    enum PendingChange {
        case reset(Cursor, LossRecord, startedAfter: UInt64)
        case edit(SubscriptionFilter)
    }

    /// - Throws: `subscriptionInUse` if another change is pending.
    func checkChangeable() throws(WireError) {
        if state == .removing {
            throw WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed")
        }
        guard pendingChange == nil else {
            throw WireError(
                .subscriptionInUse, "durable subscription '\(name)' is being reset or edited; try again later")
        }
    }

    /// Moves the cursor, under a new generation, for which nothing is acknowledged or lost. No client may be attached.
    mutating func reset(to position: UInt64) {
        pendingChange = .reset(cursor, losses, startedAfter: startedAfter)
        cursor = cursor.reset(to: position)
        losses = LossRecord(nil)
        startedAfter = min(startedAfter, position)
    }

    /// Replaces the filter. No client may be attached.
    ///
    /// An earlier version of the daemon persisted acknowledged ranges that include messages that did not match. If it
    /// created the subscription, the acknowledged messages above the cursor are delivered again.
    mutating func edit(to filter: SubscriptionFilter) {
        pendingChange = .edit(self.filter)
        self.filter = filter
        if createdMicroseconds == 0 { cursor.forgetRanges() }
    }

    /// The cursor as in the log, apart from progress.
    var committedCursor: Cursor {
        if case .reset(let earlier, _, _)? = pendingChange { earlier } else { cursor }
    }

    /// Ends the pending change. If its commit failed, what it has replaced is restored.
    mutating func changeEnded(succeeded: Bool) {
        switch succeeded ? nil : pendingChange {
        case .reset(let earlier, let earlierLosses, let earlierStart):
            (cursor, losses, startedAfter) = (earlier, earlierLosses, earlierStart)
        case .edit(let earlier): filter = earlier
        case nil: break
        }
        pendingChange = nil
    }

    // MARK: Delivering

    /// The number of messages that may be delivered now.
    var room: Int {
        guard state == .attached, let member else { return 0 }
        let window = member.attachment.window
        let span = min(window * Self.spanWindows, window + Self.maximumSpan)
        return min(member.room, span - cursor.inFlight.count)
    }

    /// Records the delivery of a matching message, unless the message is skipped.
    ///
    /// - Parameter sequence: The message's sequence, which must be higher than all earlier ones.
    /// - Returns: The attachment that receives the message; nil if the message was acknowledged in an earlier
    ///   attachment and is skipped.
    mutating func take(_ sequence: UInt64) -> Attachment? {
        guard let id = member?.id, cursor.take(sequence, member: id) else { return nil }
        member?.delivered(sequence)
        return member?.attachment
    }

    /// Records that every matching message up to `sequence` was delivered or acknowledged.
    mutating func passed(through sequence: UInt64) {
        cursor.passed(through: sequence)
    }

    // MARK: Losses

    /// Changes what a generation of the cursor has lost: the current one, or that before a pending reset.
    mutating func changeLosses(of generation: UInt32, _ change: (inout LossRecord) -> Void) {
        if generation == cursor.generation {
            change(&losses)
        } else if case .reset(let earlier, var losses, let start) = pendingChange, earlier.generation == generation {
            change(&losses)
            pendingChange = .reset(earlier, losses, startedAfter: start)
        }
    }

    /// Skips the messages up to a sequence, as if all of them were acknowledged, for a generation of the cursor.
    mutating func released(through sequence: UInt64, generation: UInt32) {
        if generation == cursor.generation {
            let skipped = cursor.released(through: sequence)
            member?.released(skipped)
        } else if case .reset(var earlier, let losses, let start) = pendingChange, earlier.generation == generation {
            _ = earlier.released(through: sequence)
            pendingChange = .reset(earlier, losses, startedAfter: start)
        }
    }

    // MARK: Flow control

    mutating func creditAdded(_ messages: UInt32) {
        member?.creditAdded(messages)
    }

    /// Acknowledges those messages in the ranges that were delivered to the current member.
    ///
    /// - Throws: `notDelivered` if a range ends above the highest sequence delivered to the member. No message is then
    ///   acknowledged.
    mutating func acknowledged(_ ranges: [SequenceRange]) throws(WireError) {
        guard let member else { return }
        if let wrong = ranges.first(where: { $0.last > member.deliveredThrough }) {
            throw WireError(
                .notDelivered,
                "sequence \(wrong.last) was not delivered to '\(name)': the last one was \(member.deliveredThrough)")
        }
        let count = cursor.acknowledged(ranges.coalesced, member: member.id)
        self.member?.acknowledged(count)
    }
}
