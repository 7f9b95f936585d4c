import NotifyCenter
import NotifyLog

/// What readers of the log read for: the one place that knows the kinds of consumers.
extension Broker {
    /// How many messages the reader's consumer takes now.
    func room(for reader: ReaderID) -> Int {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].room
        }
    }

    /// The connection whose outbox must have room; nil where nothing is attached.
    func connection(for reader: ReaderID) -> ConnectionSlot? {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].member?.attachment.connection.slot
        }
    }

    /// Hands the consumer a matching message above all others. Returns where it goes; nil where the consumer passes over it.
    mutating func take(_ sequence: UInt64, for reader: ReaderID) -> OpenRun.Destination? {
        switch readers[reader].consumer {
        case .durable(let slot):
            guard let attachment = durables[slot].take(sequence) else { return nil }
            return OpenRun.Destination(
                connection: attachment.connection.slot, subscription: attachment.number,
                isRedelivery: durables[slot].cursor.isRedelivery(sequence))
        }
    }

    /// Charges the consumer's user with what it holds, after messages were handed to it.
    mutating func chargeConsumer(of reader: ReaderID) {
        switch readers[reader].consumer {
        case .durable(let slot): chargeDurable(slot)
        }
    }

    /// Every matching message up to `sequence` was handed to the consumer. What follows up to there did not match.
    mutating func consumerPassed(through sequence: UInt64, _ reader: ReaderID) {
        switch readers[reader].consumer {
        case .durable(let slot): durables[slot].passed(through: sequence)
        }
    }

    /// The reader that gets the messages of a registration other than a connection's; nil while there is none.
    func reader(of registration: Registration) -> ReaderID? {
        let slot = registration.durable
        return durables.isCurrent(registration.id, at: slot) ? durables[slot].reader : nil
    }
}
