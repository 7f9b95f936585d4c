import NotifyLog
import NotifyWire

/// The loss of a durable subscription, as in the log apart from `unsaved`. A loss ends when the acknowledgement of a
/// later message is committed. If that commit fails, the next batch tries again.
struct LossRecord {
    private(set) var loss: Loss?
    /// The part of the loss that the broker has dropped and the log does not have yet. The next batch adds it to the
    /// loss in the log.
    private(set) var unsaved: Loss?
    /// The part of the loss that the next commit removes; nil if it removes none.
    private(set) var passed: Loss?
    /// A range that contains all lost messages that no gap has reported, because they had already been delivered. It
    /// may also contain reported messages.
    private var unreported: SequenceRange?
    /// The member that has received gaps for the whole loss, apart from `unreported`; nil if there was no gap.
    private(set) var informed: MemberID?

    init(_ loss: Loss?) {
        self.loss = loss
    }

    mutating func add(_ messages: Loss) {
        loss.add(messages)
    }

    /// Adds messages that are not in the log's loss yet.
    mutating func addUnsaved(_ messages: Loss) {
        add(messages)
        unsaved.add(messages)
    }

    /// Takes the messages that the next batch adds to the loss in the log; nil if there are none.
    mutating func takeUnsaved() -> Loss? { unsaved.take() }

    /// Records that the batch that would have added messages to the loss in the log has failed.
    mutating func saveFailed(_ messages: Loss) {
        unsaved.add(messages)
    }

    /// The loss without the messages that the next batch adds.
    var savedLoss: Loss? {
        guard let unsaved else { return loss }
        return loss?.without(unsaved)
    }

    /// Records that no gap was sent for a part of the loss.
    mutating func notReported(_ messages: Loss) {
        unreported = SequenceRange(
            first: min(messages.first, unreported?.first ?? .max), last: max(messages.last, unreported?.last ?? 0))
    }

    /// Records that a gap was sent to a member.
    ///
    /// - Parameter isWhole: Whether the gap was for the whole loss.
    mutating func reported(to member: MemberID?, isWhole: Bool) {
        if isWhole { unreported = nil }
        informed = member
    }

    /// Whether a message is within the range of the loss.
    func contains(_ sequence: UInt64) -> Bool {
        loss.map { $0.first <= sequence && sequence <= $0.last } ?? false
    }

    /// Whether a gap was sent for a lost message.
    func isReported(_ sequence: UInt64) -> Bool {
        contains(sequence) && unreported.map { sequence < $0.first || $0.last < sequence } ?? true
    }

    /// Records an acknowledgement by the member that has received the gaps of the loss, or by any member if there was
    /// no gap.
    ///
    /// - Parameter position: The cursor's position.
    mutating func acknowledged(_ sequence: UInt64, position: UInt64) {
        if let loss, position >= loss.last, sequence >= loss.last { passed = loss }
    }

    /// Records that the log no longer contains a part of the loss. Later additions stay.
    mutating func forgotten(_ part: Loss) {
        loss = loss?.without(part)
        passed = passed?.without(part)
        if loss == nil { (unreported, informed) = (nil, nil) }
    }
}

/// A loss that a batch removes from the log.
struct PassedLoss: Equatable {
    let id: DurableID
    /// The generation of the subscription's cursor.
    let generation: UInt32
    let loss: Loss
}
