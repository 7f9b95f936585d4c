import NotifyLog
import NotifyWire

/// Descriptions of single durable subscriptions.
extension Broker {
    /// Describes a subscription once the store has counted its messages, or after a short time without newer counts.
    mutating func describe(_ describe: Describe, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let durable = try managed(describe, by: slot)
        connections[slot].listing = Listing(
            request: describe.request, source: .description(durables[durable].id))
        prepareBacklogs(for: slot, now: now)
        continueList(slot)
    }

    /// Answers a request for a description. Such a request is processed as a list, which ends here.
    mutating func endDescription(_ id: DurableID, of slot: ConnectionSlot, request: UInt64) {
        scheduler.spend(FairScheduler.Cost.listEntry)
        connections[slot].listing = nil
        guard let durable = durables.slot(of: id) else {
            return refuse(
                slot, request: request,
                WireError(.unknownSubscription, "the durable subscription was removed meanwhile"))
        }
        answer(slot, description(of: durable, request: request, for: slot))
    }

    /// - Parameter connection: The connection that gets the description.
    mutating func description(
        of slot: DurableSlot, request: UInt64, existed: Bool = false, for connection: ConnectionSlot
    ) -> DurableDescription {
        let durable = durables[slot]
        scheduler.spend(durable.redeliveryCount / FairScheduler.Cost.visitsPerUnit)
        let unused = !durable.hasMembers ? durables.backlogs[durable.id]?.unusedMicroseconds : 0
        return DurableDescription(
            durableEntry(slot, request: request), settings: durable.settings,
            createdMicroseconds: durable.createdMicroseconds,
            attachedMicroseconds: durable.lastAttachment.microseconds, attachedPID: durable.lastAttachment.pid,
            expiryMicroseconds: statistics.store.subscriptionExpiry.map { UInt64($0.components.seconds) * 1_000_000 }
                ?? 0,
            unusedMicroseconds: unused,
            withheld: UInt32(durable.withheldCount(from: durable.rightsOfMembers)),
            existed: existed, needsRoom: needsRoomForDeadLetters(durable),
            lastFailure: lastFailure(of: durable, for: connections[connection].identity),
            nextMicroseconds: durable.nextDueTime(now: durables.time) ?? 0)
    }

    /// The last failure. The reason may contain parts of the message, so it is left out unless the client may certainly
    /// receive the message.
    private func lastFailure(of durable: DurableSubscription, for reader: IdentityID) -> DurableDescription.Failure? {
        guard var failure = durable.lastFailure, !access.mayReceiveAll(durable.filter.patterns, reader) else {
            return durable.lastFailure
        }
        failure.reason = ""
        return failure
    }
}
