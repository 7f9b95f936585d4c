import NotifyLog
import NotifyWire

/// Descriptions of single durable subscriptions.
extension Broker {
    /// Describes a subscription, once the store has counted its messages, or after a moment without them.
    mutating func describe(_ describe: Describe, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let durable = try managed(describe.durableName, uid: describe.uid, by: slot)
        connections[slot].listing = Listing(
            request: describe.request, subject: .backlogs, uid: nil, durables: [durables[durable].id],
            isDescription: true)
        prepareBacklogs(for: slot, now: now)
        continueList(slot)
    }

    /// Answers a request for a description, and ends the list that stands for it.
    mutating func endDescription(_ id: DurableID?, of slot: ConnectionSlot, request: UInt64) {
        scheduler.spend(FairScheduler.Cost.listEntry)
        connections[slot].listing = nil
        guard let durable = id.flatMap({ durables.slot(of: $0) }) else {
            return refuse(
                slot, request: request,
                WireError(.unknownSubscription, "the durable subscription was removed meanwhile"))
        }
        answer(slot, description(of: durable, request: request))
    }

    func description(of slot: DurableSlot, request: UInt64) -> DurableDescription {
        let durable = durables[slot]
        let unused = durable.members.isEmpty ? backlogs[durable.id]?.unusedMicroseconds : 0
        return DurableDescription(
            durableEntry(slot, request: request), settings: durable.settings,
            createdMicroseconds: durable.createdMicroseconds,
            attachedMicroseconds: durable.lastAttachment.microseconds, attachedPID: durable.lastAttachment.pid,
            expiryMicroseconds: statistics.store.subscriptionExpiry.map { UInt64($0.components.seconds) * 1_000_000 }
                ?? 0,
            unusedMicroseconds: unused)
    }
}
