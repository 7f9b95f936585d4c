import NotifyCenter
import NotifyLog
import NotifyWire

/// Choosing the member of a durable subscription that gets a message, among those that may receive it.
///
/// The members of a subscription have the same uid, but may have different groups. If no member may receive a message,
/// but another known identity of the subscription may, the message is withheld: it waits among the redeliveries without
/// a failure, and the cursor passes it. If no identity may receive a message, the message is skipped.
extension Broker {
    enum Recipient {
        case member(Int)
        /// The identities that may receive the message have no member with room.
        case withheld(MessageRights)
        /// No identity of the subscription may receive the message.
        case forbidden
    }

    /// The maximum number of members with room that are tried for one message.
    private static let maximumTurns = 16

    /// Whether one of the subscription's identities may receive a message.
    func mayReceive(_ message: MessageParts, _ durable: DurableSubscription) -> Bool {
        if access.policy.isOpen(message.name) { return true }
        let rules = access.receivingRules(of: message)
        return durable.identities.contains { access.permits(rules, $0) }
    }

    /// The member that gets a message.
    ///
    /// - Parameters:
    ///   - candidate: The member whose turn it is. Members that may not receive the message lose their turn.
    ///   - ignoresOutbox: Whether the member needs no room in the outbox of its connection.
    mutating func recipient(
        of message: MessageParts, _ slot: DurableSlot, _ candidate: Int, ignoresOutbox: Bool = false
    ) -> Recipient {
        if access.policy.isOpen(message.name) { return .member(candidate) }
        let rules = access.receivingRules(of: message)
        scheduler.spend(FairScheduler.Cost.frame)
        var turns = min(durables[slot].memberCount, Self.maximumTurns)
        var next: Int? = candidate
        while let index = next {
            if let identity = durables[slot].attachment(at: index)?.identity, access.permits(rules, identity) {
                return .member(index)
            }
            turns -= 1
            guard turns > 0 else { break }
            durables[slot].passTurn()
            next = nextMember(of: slot, ignoresOutbox: ignoresOutbox)
        }
        return self.rights(under: rules, durables[slot]).map { .withheld($0) } ?? .forbidden
    }

    /// The identities of the subscription that may receive a message; nil if there is none.
    func rights(to message: MessageParts, _ durable: DurableSubscription) -> MessageRights? {
        access.policy.isOpen(message.name) ? .everyone : rights(under: access.receivingRules(of: message), durable)
    }

    private func rights(
        under rules: AccessControl.ReceivingRules, _ durable: DurableSubscription
    ) -> MessageRights? {
        guard durable.identities.contains(where: { access.permits(rules, $0) }) else { return nil }
        return durable.identities.rights { access.permits(rules, $0) }
    }

    /// The filter for due messages to read: those that a member with room may receive.
    mutating func rightsOfMembersWithRoom(_ slot: DurableSlot) -> MessageRights {
        // No filter is needed unless a due message is known to be forbidden for an identity.
        guard durables[slot].areDueRestricted else { return .unknown }
        var rights = MessageRights.anyone
        let identities = durables[slot].identities
        scheduler.spend(durables[slot].memberCount / FairScheduler.Cost.visitsPerUnit)
        for member in durables[slot].membersWithRoom {
            guard let number = identities.number(of: member.attachment.identity),
                !rights.contains(.identity(number))
            else { continue }
            let connection = member.attachment.connection.slot
            if hasRoom(connection) { rights.insert(.identity(number)) } else { connections[connection].blocked(slot) }
        }
        return rights
    }
}
