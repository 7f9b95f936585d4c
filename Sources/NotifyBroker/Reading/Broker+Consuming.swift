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

    /// The connection to which the consumer's messages go; nil if no client is attached.
    @inline(__always)
    func connection(for reader: ReaderID) -> ConnectionSlot? {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].member?.attachment.connection.slot
        }
    }

    /// Gives a matching message to the consumer. Must be called in ascending order of sequences.
    ///
    /// - Returns: The destination of the message; nil if the consumer skips it.
    mutating func take(_ sequence: UInt64, for reader: ReaderID) -> OpenRun.Destination? {
        switch readers[reader].consumer {
        case .durable(let slot):
            guard let attachment = durables[slot].take(sequence) else { return nil }
            return OpenRun.Destination(
                connection: attachment.connection.slot, subscription: attachment.number,
                isRedelivery: durables[slot].cursor.isRedelivery(sequence))
        }
    }

    /// Charges the consumer's user for the consumer's memory. Must be called after messages were given to the consumer.
    mutating func chargeConsumer(of reader: ReaderID) {
        switch readers[reader].consumer {
        case .durable(let slot): chargeDurable(slot)
        }
    }

    /// Notes that every matching message up to `sequence` was given to the consumer.
    mutating func consumerPassed(through sequence: UInt64, _ reader: ReaderID) {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].passed(through: sequence)
        }
    }

    /// Tells the consumer about damaged messages that it does not get, some of which may not be for it.
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
