/// Opening log readers.
extension Broker {
    /// Opens the reader of a durable subscription with its first committed member.
    mutating func openReader(of slot: DurableSlot) {
        let reader = LogReader(of: slot, after: durables[slot].readPosition)
        durables.opened(pages.readers.open(reader), of: slot)
    }
}
