import NotifyLog

/// The messages that are to be delivered again, or to become dead letters.
extension DurableSubscription {
    var redeliveryCount: Int { _redeliveries.count }

    /// The number of redeliveries that are in flight to no member.
    var waitingCount: Int { _redeliveries.count - _redeliveries.inFlightCount }

    /// The bytes of the copies in the log.
    var copyBytes: Int { _redeliveries.bytes }

    /// The most bytes of copies that the subscription may have.
    var maximumCopyBytes: Int {
        get { _redeliveries.maximumBytes }
        set { _redeliveries.maximumBytes = newValue }
    }

    /// Rises with every redelivery that an operation visits.
    var redeliveryWork: Int { _redeliveries.work }

    /// Whether the log does not have what the redeliveries have become.
    var hasUnsavedRedeliveries: Bool { _redeliveries.hasUnsaved }

    /// The place of a message among the redeliveries; nil if it is not one of them.
    func redeliveryState(of sequence: UInt64) -> Redeliveries.State? { _redeliveries.state(of: sequence) }

    /// The recorded failures of a message.
    func failures(of sequence: UInt64) -> UInt32 { _redeliveries.failures(of: sequence) }

    /// The reason of a message's last failure, unless the log has it; empty if none is known.
    func unsavedReason(of sequence: UInt64) -> String { _redeliveries.unsaved[sequence] ?? "" }

    // MARK: Copies to read

    /// Whether copies of messages may have to be read.
    var mayNeedCopies: Bool { _redeliveries.hasWork }

    /// Whether copies may have to be read after a change of rights.
    var mayNeedRights: Bool { _redeliveries.mayNeedRights }

    var dueCount: Int { _redeliveries.dueCount }

    /// Whether messages are due of which is not known who may receive them.
    var hasUnevaluatedDue: Bool { !_redeliveries.due.isEmpty }

    /// Takes messages to read that are due, as ``Redeliveries`` does.
    mutating func takeDue(_ rights: MessageRights = .unknown, maximumCount: Int, maximumBytes: Int) -> [UInt64] {
        _redeliveries.takeDue(rights, maximumCount: maximumCount, maximumBytes: maximumBytes)
    }

    /// When the first of the messages that wait for a time is delivered again; nil if none waits. Visits all messages.
    func nextDueTime(now: BrokerTime) -> UInt64? { _redeliveries.nextDueTime(now: now) }

    /// When a message is delivered again, in microseconds since 1970; nil unless it waits for a time.
    func dueTime(of sequence: UInt64, now: BrokerTime) -> UInt64? { _redeliveries.dueTime(of: sequence, now: now) }

    /// Makes messages due again that were read but not delivered.
    mutating func notDelivered(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.notDelivered(sequences) }
    }

    /// Ends the redelivery of a message.
    mutating func removeRedelivery(_ sequence: UInt64) {
        _redeliveries.remove(sequence)
    }

    // MARK: Rights

    /// Whether the rights to some of the messages that are due are restricted.
    var areDueRestricted: Bool { _redeliveries.areDueRestricted }

    /// Whether the policy has changed since the rights to messages were evaluated.
    var areRightsOutdated: Bool { _redeliveries.areRightsOutdated }

    /// Notes that the policy has changed.
    mutating func rightsChanged() {
        _updateStoredRedeliveries { $0.areRightsOutdated = $0.areRightsKnown }
    }

    /// Forgets who may receive messages.
    mutating func forgetRights() {
        _redeliveries.forgetRights()
    }

    /// The rights of the oldest message that is due and that one of some identities may receive; nil if there is none.
    mutating func dueRights(intersecting rights: MessageRights) -> MessageRights? {
        _redeliveries.dueRights(intersecting: rights)
    }

    /// Makes a message due again that was read, with the rights to it.
    ///
    /// - Parameter isSetAside: Whether no member with room may receive it. Otherwise no client is attached.
    mutating func evaluated(_ sequence: UInt64, _ rights: MessageRights, isSetAside: Bool = true) {
        _redeliveries.evaluated(sequence, rights, isSetAside: isSetAside)
    }

    // MARK: Withheld messages

    /// The number of messages that wait for an identity without these rights.
    func withheldCount(from rights: MessageRights) -> Int { _redeliveries.withheldCount(from: rights) }

    /// Whether a further message may be withheld even if the log has no room.
    var mayWithholdWithoutRoom: Bool { _redeliveries.mayWithholdWithoutRoom }

    /// The most bytes of withheld messages after a further one.
    var maximumWithheldBytes: Int { _redeliveries.maximumWithheldBytes }

    /// Removes the oldest withheld messages if they are too many.
    ///
    /// - Returns: The removed messages.
    mutating func removeExcessWithheld(maximumBytes: Int) -> [UInt64] {
        _redeliveries.removeExcessWithheld(maximumBytes: maximumBytes)
    }

    // MARK: Dead letters

    var hasDead: Bool { _redeliveries.hasDead }

    /// Whether messages are given up that are no dead letters yet.
    var isAwaitingDeadLetters: Bool { _redeliveries.isAwaitingDeadLetters }

    /// Takes messages that are to become dead letters, as ``Redeliveries`` does.
    mutating func takeDead(maximumCount: Int, maximumBytes: Int) -> [UInt64] {
        _redeliveries.takeDead(maximumCount: maximumCount, maximumBytes: maximumBytes)
    }

    /// Notes that messages have not become dead letters.
    mutating func notDeadLettered(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.notDeadLettered(sequences) }
    }

    /// Notes that a message that was read can't become a dead letter now.
    mutating func deadLetterFailed(_ sequence: UInt64) {
        _redeliveries.notDeadLettered([sequence])
    }

    /// Removes messages that have become dead letters.
    mutating func deadLettered(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.deadLettered(sequences) }
    }

    /// Whether the message of a dead letter has room.
    var hasRoomForRetry: Bool { _redeliveries.hasRoomForRetry }

    /// Adds the message of a dead letter, of which a batch makes a copy.
    ///
    /// - Returns: Its row in the log.
    mutating func addCopied(_ sequence: UInt64, bytes: UInt32) -> Redelivery {
        _redeliveries.addCopied(sequence, bytes: bytes)
    }

    // MARK: The log

    /// Notes that the log has rows of redeliveries.
    mutating func saved(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.saved(sequences) }
    }

    /// Notes that the log does not have what a batch contained of redeliveries.
    mutating func saveFailed(_ batch: Redeliveries.Unsaved) {
        _updateStoredRedeliveries { $0.saveFailed(batch) }
    }

    /// Removes messages of which the log has deleted the copies, as ``Redeliveries`` does.
    mutating func copiesDeleted(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { rows in
            for sequence in sequences { rows.copyDeleted(sequence) }
        }
    }

    /// Removes a message of which the log has no row.
    mutating func discard(_ sequence: UInt64) {
        _updateStoredRedeliveries { $0.discard(sequence) }
    }
}
