import NotifyCenter
import NotifyLog

/// The consumers of log readers: the only place that depends on their kind.
extension Broker {
    /// How many messages the reader's consumer accepts now.
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

    /// Gives the consumer a matching message. Must be called in ascending order of sequences.
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

    /// Charges the consumer's user with the consumer's memory, after messages were given to it.
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

    /// The reader of a durable registration; nil if it has none.
    func reader(of registration: Registration) -> ReaderID? {
        let slot = registration.durable
        return durables.isCurrent(registration.id, at: slot) ? durables[slot].reader : nil
    }
}
