import NotifyWire

/// The holders of a message: members that have received it. Each of them may acknowledge it.
extension Redeliveries {
    /// The maximum number of holders of a message. Earlier ones are forgotten.
    private static let maximumHolders = 4
    /// The maximum number of failed messages that a member may still acknowledge: two windows. Bounds the work of an
    /// acknowledgement.
    private static let maximumHeld = 2 * Int(Limits.maximumWindow)

    mutating func addHolder(_ holder: MemberID, of sequence: UInt64) {
        guard var holders = messages[sequence]?.holders, !holders.contains(holder) else { return }
        if holders.count == Self.maximumHolders { removeHeld(sequence, by: holders.removeFirst()) }
        holders.append(holder)
        messages[sequence]?.holders = holders
        held[holder, default: []].insert(sequence)
    }

    /// Whether a member holds too many messages, counting the one in flight that fails now. If so, the member does not
    /// stay a holder of this message.
    func hasManyHeld(_ member: MemberID) -> Bool { held[member]?.count ?? 0 > Self.maximumHeld }

    mutating func removeHeld(_ sequence: UInt64, by holder: MemberID) {
        held[holder]?.remove(sequence)
        if held[holder]?.isEmpty ?? false { held[holder] = nil }
    }

    /// Whether a member may acknowledge some of the messages.
    func mayBeHeld(by member: MemberID) -> Bool { held[member] != nil }

    /// Forgets some messages of a member that has ended.
    ///
    /// - Returns: The number of forgotten messages; those that were in flight to the member, ascending; and whether the
    ///   member holds no further messages.
    mutating func takeHeld(
        by member: MemberID, maximumCount: Int
    ) -> (count: Int, inFlight: [UInt64], isLast: Bool) {
        let sequences = (held[member] ?? []).prefix(maximumCount).sorted()
        for sequence in sequences { release(sequence, by: member) }
        return (sequences.count, sequences.filter { isInFlight($0, to: member) }, held[member] == nil)
    }

    /// Forgets a member that has ended.
    ///
    /// - Returns: The messages that were in flight to the member, ascending.
    mutating func ended(_ member: MemberID) -> [UInt64] {
        let sequences = (held.removeValue(forKey: member) ?? []).sorted()
        for sequence in sequences { messages[sequence]?.holders.removeAll { $0 == member } }
        return sequences.filter { isInFlight($0, to: member) }
    }

    /// Makes all messages in flight due, without a failure. Must be called only when all members have ended.
    mutating func giveBackAll() {
        for member in held.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            for sequence in ended(member) { set(.due, of: sequence) }
        }
    }

    /// Forgets that a member received a message, because the member has given it back.
    mutating func release(_ sequence: UInt64, by member: MemberID) {
        messages[sequence]?.holders.removeAll { $0 == member }
        removeHeld(sequence, by: member)
    }

    func isInFlight(_ sequence: UInt64, to member: MemberID) -> Bool {
        if case .inFlight(member, _)? = messages[sequence]?.state { true } else { false }
    }
}
