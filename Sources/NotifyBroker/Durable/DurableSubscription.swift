import NotifyLog
import NotifyWire

/// A durable subscription: a filter and a cursor, which the log keeps, and the members that read from it. A pure state
/// machine.
///
/// There is one member at a time. While one is attached, a reader of the log hands over messages.
struct DurableSubscription {
    enum State: Equatable {
        case detached
        /// The attachment is not committed yet: nothing is handed over.
        case attaching
        case attached
        /// Its removal is pending.
        case removing
    }

    /// Messages handed over may lie this many windows above the cursor.
    private static let spanWindows = 8

    let id: DurableID
    let name: String
    let filter: SubscriptionFilter
    let uid: UInt32
    /// In the center; rises, so that a later subscription in the same slot is not taken for this one.
    var registration: UInt64 = 0
    /// Whose rights bound what is received.
    var owner: IdentityID
    /// Reads the log for it while it is attached.
    var reader: ReaderID?

    private(set) var state = State.detached
    private(set) var cursor: Cursor
    private(set) var member: Member?
    private var nextMemberID = MemberID(rawValue: 0)
    /// Bytes that the user is charged with.
    private(set) var chargedBytes = 0

    init(_ record: DurableRecord, owner: IdentityID) {
        id = record.id
        name = record.name
        filter = record.filter
        uid = record.owner.uid
        self.owner = owner
        cursor = Cursor(record.progress)
    }

    /// What the log is to keep of its progress.
    var progress: DurableProgress { cursor.progress(isAttached: member != nil) }

    /// Identifies the life of the cursor for clients: another id or a reset gives another value.
    var generation: UInt64 { UInt64(id.rawValue) << 32 | UInt64(cursor.generation) }

    // MARK: Memory

    /// Besides filter and cursor.
    private static let ownBytes = 1024

    /// Charges it with what it holds now, and returns how many bytes more those are.
    mutating func charge() -> Int {
        let bytes = Self.ownBytes + filter.byteCount + cursor.byteCount
        defer { chargedBytes = bytes }
        return bytes - chargedBytes
    }

    // MARK: Attaching

    enum AttachVerdict: Equatable {
        /// Nothing is attached.
        case free
        /// The same client is attached on an earlier connection, which loses the subscription.
        case takeOver(from: Attachment)
        case refused(WireError, holderPID: UInt32)
    }

    /// A client asks to attach on a connection.
    func attachRequested(
        by instance: ClientInstance, on connection: ConnectionID, filter: SubscriptionFilter
    ) -> AttachVerdict {
        guard self.filter == filter else {
            return .refused(
                WireError(
                    .subscriptionMismatch,
                    "durable subscription '\(name)' exists with other patterns or another object: use those, or remove it first"
                ), holderPID: 0)
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

    /// The attachment is committed. Returns false where it is no longer the one that was requested.
    mutating func attachmentCommitted(_ attachment: Attachment) -> Bool {
        guard state == .attaching, member?.attachment == attachment else { return false }
        state = .attached
        return true
    }

    /// The member has left or lost its connection. What it was handed and did not acknowledge is handed over again.
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
                "durable subscription '\(name)' is held by process \(member?.attachment.pid ?? 0): stop that first")
        }
    }

    mutating func removalFailed() {
        if state == .removing { state = .detached }
    }

    // MARK: Handing over

    /// How many messages may be handed over now.
    var room: Int {
        guard state == .attached, let member else { return 0 }
        return min(member.room, member.attachment.window * Self.spanWindows - cursor.inFlight.count)
    }

    /// Hands over a matching message above all others. Returns the attachment that gets it; nil for a message that was
    /// acknowledged earlier, which is passed over.
    mutating func take(_ sequence: UInt64) -> Attachment? {
        guard let id = member?.id, cursor.take(sequence, member: id) else { return nil }
        member?.delivered(sequence)
        return member?.attachment
    }

    /// Every matching message up to here was handed over or acknowledged.
    mutating func passed(through sequence: UInt64) {
        cursor.passed(through: sequence)
    }

    // MARK: Flow control

    mutating func creditAdded(_ messages: UInt32) {
        member?.creditAdded(messages)
    }

    /// Acts on the messages in the ranges that the member was handed, and on nothing else.
    ///
    /// - Throws: `notDelivered`, if a range ends above all that the member was handed; then no range counts.
    mutating func acknowledged(_ ranges: [SequenceRange]) throws(WireError) {
        guard let member else { return }
        if let wrong = ranges.first(where: { $0.last > member.deliveredThrough }) {
            throw WireError(
                .notDelivered,
                "sequence \(wrong.last) was not delivered to '\(name)': the last one was \(member.deliveredThrough)")
        }
        let count = cursor.acknowledged(ranges.joined, member: member.id)
        self.member?.acknowledged(count)
    }
}
