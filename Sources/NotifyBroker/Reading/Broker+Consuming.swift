import NotifyCenter
import NotifyLog
import NotifyWire

/// Access to the consumers of log readers. Only this extension depends on the kind of a consumer.
extension Broker {
    /// The number of messages that the reader's consumer accepts now.
    @inline(__always)
    func room(for reader: ReaderID) -> Int {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].room
        }
    }

    /// The member of the consumer that gets its next message; nil if none has room.
    ///
    /// - Parameter ignoresOutbox: Whether the room in the outbox of its connection does not count.
    @inline(__always)
    mutating func nextMember(for reader: ReaderID, ignoresOutbox: Bool = false) -> Int? {
        guard room(for: reader) > 0 else { return nil }
        return switch readers[reader].consumer {
        case .durable(let slot): nextMember(of: slot, ignoresOutbox: ignoresOutbox)
        }
    }

    /// The member that gets the next message after `nextMember`, in the same piece of reading: the same one, whose
    /// outbox is not looked at again, or the next one that has room. The caller checks the room of the consumer.
    @inline(__always)
    mutating func nextMemberWhileReading(for reader: ReaderID) -> Int? {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].members.turnHolder ?? nextMember(of: slot)
        }
    }

    /// The member that gets the next message of a durable subscription; nil if none has room. Those whose connection
    /// has no room are woken when it has.
    mutating func nextMember(of slot: DurableSlot, ignoresOutbox: Bool = false) -> Int? {
        while let index = durables.candidate(of: slot) {
            guard !ignoresOutbox, let connection = durables[slot].members[index]?.attachment.connection.slot else {
                return index
            }
            if hasRoom(connection) { return index }
            connections[connection].blocked(slot)
            durables[slot].members.blockCandidate()
        }
        return nil
    }

    /// Gives the first of some matching messages to a member of the consumer, with those after it that can be handled
    /// together with it. Must be called in ascending order of sequences.
    ///
    /// - Returns: The number of messages, at least 1, and their destination; nil if the consumer skips the message.
    mutating func take(
        _ entries: ArraySlice<LogBlock.Entry>, for reader: ReaderID, _ member: Int
    ) -> (count: Int, destination: OpenRun.Destination?) {
        let first = entries[entries.startIndex]
        switch readers[reader].consumer {
        case .durable(let slot):
            let count = entries.count > 1 ? durables.take(entries, of: slot, for: member) : 0
            if count == 0, !durables.take(first.sequence, bytes: first.length, of: slot, for: member) {
                return (1, nil)
            }
            let (connection, number) = durables[slot].members.recipient(at: member)
            let destination = OpenRun.Destination(
                connection: connection, subscription: number,
                isRedelivery: durables[slot].cursor.isRedelivery(first.sequence))
            return (max(1, count), destination)
        }
    }

    /// Charges the consumer's user for the consumer's memory, sets its timer, and moves messages that hold the cursor.
    /// Must be called after messages were given to the consumer.
    mutating func messagesGiven(to reader: ReaderID) {
        switch readers[reader].consumer {
        case .durable(let slot):
            if durables[slot].isHeldUp {
                // Otherwise clients that answer several messages at once could wait forever for further ones.
                durables[slot].moveOldestToRedeliveries(now: durables.time)
                durables.noteProgress(slot)
                return answersChanged(slot, now: durables.time)
            }
            chargeDurable(slot)
            durables.setDeadlineTimer(slot)
        }
    }

    /// Notes that every matching message up to `sequence` was given to the consumer.
    mutating func consumerPassed(through sequence: UInt64, _ reader: ReaderID) {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].passed(through: sequence)
        }
    }

    /// Reports damaged messages to the consumer in their place. Some of them may not match it.
    mutating func reportDamage(_ sequences: [UInt64], to reader: ReaderID) {
        guard let first = sequences.first, let last = sequences.last else { return }
        noteDamage(sequences)
        switch readers[reader].consumer {
        case .durable(let slot):
            let loss = Loss(first: first, last: last, count: UInt64(sequences.count), isUpperBound: true)
            sendGap(loss, .damaged, to: slot)
        }
    }

    /// Notes damaged messages that a client does not get, and logs them if they were not known.
    mutating func noteDamage(_ sequences: [UInt64]) {
        guard let first = sequences.first, let last = sequences.last else { return }
        guard logChecks.noteDamage(sequences) else { return }
        actions.append(
            .warn(
                "the log is damaged: \(sequences.count) messages from \(min(first, last)) to \(max(first, last)) were not "
                    + "delivered"))
    }

    /// The reader of a durable registration; nil if there is none.
    func reader(of registration: Registration) -> ReaderID? {
        let slot = registration.durable
        return durables.isCurrent(registration.id, at: slot) ? durables[slot].reader : nil
    }
}
