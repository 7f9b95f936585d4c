/// Readers that begin.
extension Broker {
    /// Opens the reader of a durable subscription with its first committed member.
    mutating func openReader(of slot: DurableSlot) {
        let durable = durables[slot]
        let interest = LogReader.Interest(
            filter: durable.filter, registration: durable.registration, subscription: durable.id)
        durables.opened(
            readers.open(LogReader(for: .durable(slot), interest, after: durable.readPosition)), of: slot)
    }
}
