import NotifyLog

/// The messages that wait for a redelivery, or to become dead letters.
extension DurableSubscription {
    var redeliveryCount: Int { _redeliveries.count }

    /// The number of redeliveries that are not in flight.
    var waitingCount: Int { _redeliveries.count - _redeliveries.inFlightCount }

    /// The bytes of the copies, including copies that the log does not have yet.
    var copyBytes: Int { _redeliveries.bytes }

    /// The maximum number of bytes of the subscription's copies.
    var maximumCopyBytes: Int {
        get { _redeliveries.maximumBytes }
        set { _redeliveries.maximumBytes = newValue }
    }

    /// The work on redeliveries so far, in units of ``FairScheduler``.
    var redeliveryWork: Int { _redeliveries.work }

    /// Whether the log does not have the latest state of the redeliveries.
    var hasUnsavedRedeliveries: Bool { _redeliveries.hasUnsaved }

    /// The state of a message among the redeliveries; nil if the message is not one of them.
    func redeliveryState(of sequence: UInt64) -> Redeliveries.State? { _redeliveries.state(of: sequence) }

    /// The recorded failures of a message.
    func failures(of sequence: UInt64) -> UInt32 { _redeliveries.failures(of: sequence) }

    /// The reason of a message's last failure, if the log does not have it yet; otherwise empty.
    func unsavedReason(of sequence: UInt64) -> String { _redeliveries.unsavedReason(of: sequence) ?? "" }

    // MARK: Copies to read

    /// Whether copies of messages may have to be read.
    var mayNeedCopies: Bool { _redeliveries.hasWork }

    /// Whether copies may have to be read after a change of rights.
    var mayNeedRights: Bool { _redeliveries.mayNeedRights }

    var dueCount: Int { _redeliveries.dueCount }

    /// Whether there are due messages whose rights are not evaluated.
    var hasUnevaluatedDue: Bool { !_redeliveries.due.isEmpty }

    /// Takes due messages to read them, as ``Redeliveries`` does.
    mutating func takeDue(_ rights: MessageRights = .unknown, maximumCount: Int, maximumBytes: Int) -> [UInt64] {
        _redeliveries.takeDue(rights, maximumCount: maximumCount, maximumBytes: maximumBytes)
    }

    /// The earliest time that is set for a redelivery; nil if none is set. Visits all messages.
    func nextDueTime(now: BrokerTime) -> UInt64? { _redeliveries.nextDueTime(now: now) }

    /// The time of a message's redelivery, in microseconds since 1970; nil if no time is set for it.
    func dueTime(of sequence: UInt64, now: BrokerTime) -> UInt64? { _redeliveries.dueTime(of: sequence, now: now) }

    /// Makes messages due again that were read and not delivered.
    mutating func notDelivered(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.notDelivered(sequences) }
    }

    /// Ends the redelivery of a message.
    mutating func removeRedelivery(_ sequence: UInt64) {
        _redeliveries.remove(sequence)
    }

    // MARK: Rights

    /// Whether the rights to some due messages are restricted.
    var areDueRestricted: Bool { _redeliveries.areDueRestricted }

    /// Whether the policy has changed since the rights to messages were evaluated.
    var areRightsOutdated: Bool { _redeliveries.areRightsOutdated }

    /// Records that the policy has changed.
    mutating func rightsChanged() {
        _updateStoredRedeliveries { $0.areRightsOutdated = $0.areRightsKnown }
    }

    /// Forgets the evaluated rights to messages.
    mutating func forgetRights() {
        _redeliveries.forgetRights()
    }

    /// The rights to the oldest due message that one of the given identities may receive; nil if there is none.
    mutating func dueRights(intersecting rights: MessageRights) -> MessageRights? {
        _redeliveries.dueRights(intersecting: rights)
    }

    /// Makes a message due again after it was read, and records the rights to it.
    ///
    /// - Parameter isSetAside: Whether no member with room may receive the message. False if no client is attached.
    mutating func evaluated(_ sequence: UInt64, _ rights: MessageRights, isSetAside: Bool = true) {
        _redeliveries.evaluated(sequence, rights, isSetAside: isSetAside)
    }

    // MARK: Withheld messages

    /// The number of withheld messages that only other identities than these may receive.
    func withheldCount(from rights: MessageRights) -> Int { _redeliveries.withheldCount(from: rights) }

    /// Whether a further message may be withheld even if the log has no room.
    var mayWithholdWithoutRoom: Bool { _redeliveries.mayWithholdWithoutRoom }

    /// The maximum number of bytes of withheld messages after a further one is added.
    var maximumWithheldBytes: Int { _redeliveries.maximumWithheldBytes }

    /// Removes the oldest withheld messages if there are too many.
    ///
    /// - Returns: The removed messages.
    mutating func removeExcessWithheld(maximumBytes: Int) -> [UInt64] {
        _redeliveries.removeExcessWithheld(maximumBytes: maximumBytes)
    }

    // MARK: Dead letters

    var hasDead: Bool { _redeliveries.hasDead }

    /// Whether some messages have failed too often and are not dead letters yet.
    var isAwaitingDeadLetters: Bool { _redeliveries.isAwaitingDeadLetters }

    /// Takes messages that are to become dead letters, as ``Redeliveries`` does.
    mutating func takeDead(maximumCount: Int, maximumBytes: Int) -> [UInt64] {
        _redeliveries.takeDead(maximumCount: maximumCount, maximumBytes: maximumBytes)
    }

    /// Records that messages have not become dead letters.
    mutating func notDeadLettered(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.notDeadLettered(sequences) }
    }

    /// Records that a message that was read can't become a dead letter now.
    mutating func deadLetterFailed(_ sequence: UInt64) {
        _redeliveries.notDeadLettered([sequence])
    }

    /// Removes messages that have become dead letters.
    mutating func deadLettered(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.deadLettered(sequences) }
    }

    /// Whether there is room to deliver the message of a dead letter again.
    var hasRoomForRetry: Bool { _redeliveries.hasRoomForRetry }

    /// Adds the original message of a dead letter. The next batch makes a copy of it.
    ///
    /// - Returns: The message's row for the log.
    mutating func addCopied(_ sequence: UInt64, bytes: UInt32) -> Redelivery {
        _redeliveries.addCopied(sequence, bytes: bytes)
    }

    // MARK: The log

    /// Records that the log has rows of redeliveries.
    mutating func saved(_ sequences: [UInt64]) {
        _updateStoredRedeliveries { $0.saved(sequences) }
    }

    /// Records that the redeliveries of a failed batch are not in the log.
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
