/// Opening and waking log readers.
extension Broker {
    /// Opens the reader of a durable subscription with its first committed member.
    mutating func openReader(of slot: DurableSlot) {
        let reader = LogReader(of: slot, after: durables[slot].readPosition)
        durables.opened(pages.readers.open(reader), of: slot)
    }

    /// Wakes the readers that wait for the connection. Must be called when the connection's outbox has room again.
    mutating func wakeReaders(of slot: ConnectionSlot) {
        let id = connections[slot].id
        pages.histories.wake(id)
        pages.values.wake(id)
        for durable in connections[slot].takeBlocked() where durables.contains(durable) {
            durables[durable].wakeMembers(on: id)
            if let reader = durables[durable].reader { pages.readers.wake(reader) }
            durables.redeliveryReads.wake(durable)
        }
    }
}
