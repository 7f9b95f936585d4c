import NotifyCenter
import NotifyLog
import NotifyWire

/// Delivers the messages that log readers read to the members of durable subscriptions.
extension Broker {
    /// The reader of a durable registration; nil if there is none.
    func reader(of registration: Registration) -> ReaderID? {
        let slot = registration.durable
        return durables.isCurrent(registration.id, at: slot) ? durables[slot].reader : nil
    }

    /// The number of messages that the reader's subscription accepts now.
    @inline(__always)
    func room(for reader: ReaderID) -> Int { durables[pages.readers[reader].durable].room }

    /// The member that gets the reader's next message; nil if none has room.
    ///
    /// - Parameter ignoresOutbox: Whether the member needs no room in the outbox of its connection.
    @inline(__always)
    mutating func nextMember(for reader: ReaderID, ignoresOutbox: Bool = false) -> Int? {
        let slot = pages.readers[reader].durable
        return durables[slot].room > 0 ? nextMember(of: slot, ignoresOutbox: ignoresOutbox) : nil
    }

    /// The member that gets the next message while a reader continues to read the ring: the member whose turn it is,
    /// without another check of its outbox, or else the next member with room. The caller checks the room of the
    /// subscription.
    @inline(__always)
    mutating func nextMemberWhileReading(for reader: ReaderID) -> Int? {
        let slot = pages.readers[reader].durable
        return durables[slot].turnHolder ?? nextMember(of: slot)
    }

    /// The member that gets the next message of a durable subscription; nil if none has room. A member whose connection
    /// has no room is woken once the connection has room again.
    mutating func nextMember(of slot: DurableSlot, ignoresOutbox: Bool = false) -> Int? {
        while let index = durables.candidate(of: slot) {
            guard !ignoresOutbox, let connection = durables[slot].attachment(at: index)?.connection.slot else {
                return index
            }
            if hasRoom(connection) { return index }
            connections[connection].blocked(slot)
            durables[slot].blockCandidate()
        }
        return nil
    }

    /// Gives the first of some matching messages to a member, together with the following messages that can be handled
    /// in the same way. Must be called in ascending order of sequences.
    ///
    /// - Returns: The number of messages, at least 1, and their destination; nil if the subscription skips the message.
    mutating func take(
        _ entries: ArraySlice<LogBlock.Entry>, for reader: ReaderID, _ member: Int
    ) -> (count: Int, destination: OpenRun.Destination?) {
        let slot = pages.readers[reader].durable
        let first = entries[entries.startIndex]
        let count = entries.count > 1 ? durables.take(entries, of: slot, for: member) : 0
        if count == 0, !durables.take(first.sequence, bytes: first.length, of: slot, for: member) { return (1, nil) }
        let (connection, number) = durables[slot].recipient(at: member)
        let destination = OpenRun.Destination(
            connection: connection, subscription: number,
            isRedelivery: durables[slot].isRedelivery(first.sequence))
        return (max(1, count), destination)
    }

    // MARK: Rights

    /// Whether the subscription has only one known identity, so that each member may receive every message that the
    /// reader selects.
    @inline(__always)
    func haveMembersEqualRights(_ reader: ReaderID) -> Bool {
        durables[pages.readers[reader].durable].identities.count == 1
    }

    /// The receiver of the next messages.
    enum Recipients {
        /// A member, and the number of messages for it, at least 1.
        case member(Int, count: Int)
        /// No member with room may receive the next message, but identities of the subscription may.
        case withheld(MessageRights)
        /// No identity of the subscription may receive the next message.
        case forbidden
    }

    /// The maximum number of messages for which one decision is made.
    private static let maximumOpenMessages = 64

    /// Decides which member gets the first of some matching messages.
    ///
    /// - Parameters:
    ///   - entries: Neighbors in the block, at least one.
    ///   - member: The member whose turn it is.
    mutating func recipient(
        of entries: ArraySlice<LogBlock.Entry>, in block: LogBlock, for reader: ReaderID, _ member: Int,
        ignoresOutbox: Bool
    ) -> Recipients {
        let open = entries.prefix(Self.maximumOpenMessages).prefix { entry in
            block.withMessage(entry) { access.policy.isOpen($0.parts.name) }
        }
        if !open.isEmpty { return .member(member, count: open.count) }
        let slot = pages.readers[reader].durable
        let recipient = block.withMessage(entries[entries.startIndex]) { message in
            self.recipient(of: message.parts, slot, member, ignoresOutbox: ignoresOutbox)
        }
        return switch recipient {
        case .member(let index): .member(index, count: 1)
        case .withheld(let rights): .withheld(rights)
        case .forbidden: .forbidden
        }
    }

    /// Withholds a matching message from the present members: the identities that may receive it have no member with
    /// room.
    ///
    /// - Parameter member: The member whose turn it is.
    /// - Returns: False if the message must wait: for a batch to be stored, for room among the copies, or for storage
    ///   to work.
    mutating func withhold(
        _ entry: LogBlock.Entry, _ rights: MessageRights, for reader: ReaderID, _ member: Int
    ) -> Bool {
        let slot = pages.readers[reader].durable
        guard !durables[slot].isSaving, durables[slot].hasRoomForCopy, mayWithhold(slot) else { return false }
        let maximumBytes = durables[slot].maximumWithheldBytes
        durables.withhold(entry, rights, of: slot, at: member)
        limitWithheld(of: slot, to: maximumBytes, now: durables.time)
        durables.noteProgress(slot)
        answersChanged(slot, now: durables.time)
        return true
    }

    /// Charges the owner for the memory of the reader's subscription, sets its timer, and moves messages that hold the
    /// cursor. Must be called after messages were given to members.
    mutating func messagesGiven(to reader: ReaderID) {
        let slot = pages.readers[reader].durable
        if durables[slot].isHeldUp {
            // Without this, clients that answer several messages at once could wait forever for further ones.
            durables[slot].moveOldestToRedeliveries(now: durables.time)
            durables.noteProgress(slot)
            return answersChanged(slot, now: durables.time)
        }
        chargeDurable(slot)
        durables.setDeadlineTimer(slot)
    }

    // MARK: Damage

    /// Reports damaged messages to the member that has been attached longest. Some of the messages might not match the
    /// subscription.
    mutating func reportDamage(_ sequences: [UInt64], to reader: ReaderID) {
        guard let loss = Loss(of: sequences, isUpperBound: true) else { return }
        noteDamage(sequences)
        sendGap(loss, .damaged, to: pages.readers[reader].durable)
    }

    /// Records damaged messages that a client does not get, and logs them if some were unknown.
    mutating func noteDamage(_ sequences: [UInt64]) {
        guard let first = sequences.first, let last = sequences.last else { return }
        guard commits.damage.note(sequences) else { return }
        actions.append(
            .warn(
                "the log is damaged: \(sequences.count) messages from \(min(first, last)) to \(max(first, last)) were not "
                    + "delivered"))
    }
}
