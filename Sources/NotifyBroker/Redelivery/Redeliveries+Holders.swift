import NotifyWire

/// The members that have got a message. Each of them may acknowledge it.
extension Redeliveries {
    /// The most members that a message records as its receivers.
    private static let maximumHolders = 4
    /// The most messages that a member may acknowledge after it has failed them: two windows. It bounds the work of an
    /// acknowledgement.
    private static let maximumHeld = 2 * Int(Limits.maximumWindow)

    mutating func addHolder(_ holder: MemberID, of sequence: UInt64) {
        guard var holders = messages[sequence]?.holders, !holders.contains(holder) else { return }
        if holders.count == Self.maximumHolders { removeHeld(sequence, by: holders.removeFirst()) }
        holders.append(holder)
        messages[sequence]?.holders = holders
        held[holder, default: []].insert(sequence)
    }

    /// Whether a member may acknowledge so many messages that no further failed ones are kept for it.
    func hasManyHeld(_ member: MemberID) -> Bool { held[member]?.count ?? 0 > Self.maximumHeld }

    mutating func removeHeld(_ sequence: UInt64, by holder: MemberID) {
        held[holder]?.remove(sequence)
        if held[holder]?.isEmpty ?? false { held[holder] = nil }
    }

    /// Whether a member may acknowledge some of the messages.
    func mayBeHeld(by member: MemberID) -> Bool { held[member] != nil }

    /// Forgets some messages of a member that has ended.
    ///
    /// - Returns: The number of forgotten messages; those of them that were in flight to the member, ascending; and
    ///   whether the member has no further messages.
    mutating func takeHeld(
        by member: MemberID, maximumCount: Int
    ) -> (count: Int, inFlight: [UInt64], isLast: Bool) {
        let sequences = (held[member] ?? []).prefix(maximumCount).sorted()
        for sequence in sequences { release(sequence, by: member) }
        return (sequences.count, sequences.filter { isInFlight($0, to: member) }, held[member] == nil)
    }

    /// Forgets a member that has ended.
    ///
    /// - Returns: The messages that were in flight to it, ascending.
    mutating func ended(_ member: MemberID) -> [UInt64] {
        let sequences = (held.removeValue(forKey: member) ?? []).sorted()
        for sequence in sequences { messages[sequence]?.holders.removeAll { $0 == member } }
        return sequences.filter { isInFlight($0, to: member) }
    }

    /// Makes messages due that are in flight to members. All members have ended. No failure is recorded.
    mutating func giveBackAll() {
        for member in held.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            for sequence in ended(member) { set(.due, of: sequence) }
        }
    }

    /// Forgets that a member got a message, because it has given it back.
    mutating func release(_ sequence: UInt64, by member: MemberID) {
        messages[sequence]?.holders.removeAll { $0 == member }
        removeHeld(sequence, by: member)
    }

    func isInFlight(_ sequence: UInt64, to member: MemberID) -> Bool {
        if case .inFlight(member, _)? = messages[sequence]?.state { true } else { false }
    }
}
