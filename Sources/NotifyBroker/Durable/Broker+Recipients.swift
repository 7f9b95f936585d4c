import NotifyCenter
import NotifyLog
import NotifyWire

/// Which member of a durable subscription gets a message: one that may receive it.
///
/// The members of a subscription have the same uid, but may have different groups. A message that none of the attached
/// members may receive, but another identity that attached, waits among the redeliveries, uncounted, and the cursor
/// passes it. A message that none of these identities may receive is skipped.
extension Broker {
    enum Recipient {
        case member(Int)
        /// The identities that may receive the message have no member with room.
        case withheld(MessageRights)
        /// No identity that attached may receive the message.
        case forbidden
    }

    /// The most members with room that are asked for a message in turn.
    private static let maximumTurns = 16

    /// Whether one of the identities that attached may receive a message.
    func mayReceive(_ message: MessageParts, _ durable: DurableSubscription) -> Bool {
        if access.policy.isOpen(message.name) { return true }
        let rules = access.receivingRules(of: message)
        return durable.identities.contains { access.permits(rules, $0) }
    }

    /// The member that gets a message.
    ///
    /// - Parameters:
    ///   - candidate: The member whose turn it is. Members that may not receive the message lose their turn.
    ///   - ignoresOutbox: Whether the room in the outbox of a connection does not count.
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

    /// Which of the identities that attached may receive a message; nil if none of them may.
    func rights(to message: MessageParts, _ durable: DurableSubscription) -> MessageRights? {
        access.policy.isOpen(message.name) ? .everyone : rights(under: access.receivingRules(of: message), durable)
    }

    private func rights(
        under rules: AccessControl.ReceivingRules, _ durable: DurableSubscription
    ) -> MessageRights? {
        guard durable.identities.contains(where: { access.permits(rules, $0) }) else { return nil }
        return durable.identities.rights { access.permits(rules, $0) }
    }

    /// The filter of messages to read: those that a member with room may receive.
    mutating func rightsOfMembersWithRoom(_ slot: DurableSlot) -> MessageRights {
        // Without different rights, a member is as good as any other.
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
