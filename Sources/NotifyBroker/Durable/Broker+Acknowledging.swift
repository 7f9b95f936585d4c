import NotifyWire

/// Flow control of durable subscriptions: acknowledgements and credit.
extension Broker {
    mutating func acknowledge(
        _ acknowledge: Acknowledge, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        let durable = try durable(acknowledge.subscription, of: slot)
        let reader = durables[durable].reader
        do throws(WireError) {
            if let reader, readers[reader].isLive { durables[durable].passed(through: commits.persistedThrough) }
            try durables.acknowledged(acknowledge.ranges, of: durable)
        } catch {
            refuse(slot, request: 0, error, subscription: acknowledge.subscription)
            return
        }
        chargeDurable(durable)
        durables[durable].lossAcknowledged(through: acknowledge.ranges.map(\.last).max() ?? 0)
        commits.progressMade(now: now.monotonic)
        if let reader { readers.wake(reader) }
    }

    mutating func addCredit(_ credit: Credit, _ slot: ConnectionSlot) throws(WireError) {
        let durable = try durable(credit.subscription, of: slot)
        durables[durable].creditAdded(credit.messages)
        if let reader = durables[durable].reader { readers.wake(reader) }
    }

    private func durable(_ number: UInt32, of slot: ConnectionSlot) throws(WireError) -> DurableSlot {
        guard case .durable(let durable)? = connections[slot].subscriptions[number] else {
            throw WireError(
                .unknownSubscription, "this connection has no durable subscription \(number)")
        }
        return durable
    }
}
