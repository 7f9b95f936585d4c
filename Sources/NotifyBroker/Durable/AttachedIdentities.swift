import NotifyLog

/// The known identities that have attached to a durable subscription. Each has a number as long as it is known.
struct AttachedIdentities {
    private struct Entry {
        var id: IdentityID
        /// The number of the identity's latest attachment, among all attachments of the subscription.
        var use: UInt64
    }

    private var entries: [Entry]
    private var uses: UInt64

    /// - Parameter ids: At least one identity, and at most `DurableRecord.maximumOwners`, the latest one last.
    init(_ ids: [IdentityID]) {
        precondition(
            !ids.isEmpty && ids.count <= DurableRecord.maximumOwners,
            "there must be 1 to \(DurableRecord.maximumOwners) identities")
        entries = ids.enumerated().map { Entry(id: $0.element, use: UInt64($0.offset)) }
        uses = UInt64(ids.count)
    }

    /// The effect of an attachment on the known identities.
    enum Change: Equatable {
        /// The identity was already known.
        case none
        case added
        /// The identity that attached longest ago is forgotten, and the new one gets its number.
        case replaced(IdentityID)
    }

    /// The identities that must be recorded again before a new one, in this order: those with a member that attached
    /// before the last one without a member. The new identity replaces the one that attached longest ago, which then
    /// has no member.
    func kept(where hasMember: (IdentityID) -> Bool) -> [IdentityID] {
        let order = inOrder
        guard let end = order.lastIndex(where: { !hasMember($0) }) else { return [] }
        return order[..<end].filter(hasMember)
    }

    /// Records that an identity attached.
    mutating func attached(_ id: IdentityID) -> Change {
        uses += 1
        if let number = number(of: id) {
            entries[number].use = uses
            return .none
        }
        let entry = Entry(id: id, use: uses)
        guard entries.count == DurableRecord.maximumOwners,
            let oldest = entries.indices.min(by: { entries[$0].use < entries[$1].use })
        else {
            entries.append(entry)
            return .added
        }
        defer { entries[oldest] = entry }
        return .replaced(entries[oldest].id)
    }

    @inline(__always)
    var count: Int { entries.count }

    /// The identity that attached last.
    var latest: IdentityID { inOrder[count - 1] }

    /// All known identities, beginning with the one that attached longest ago.
    var inOrder: [IdentityID] { entries.sorted { $0.use < $1.use }.map(\.id) }

    func number(of id: IdentityID) -> Int? { entries.firstIndex { $0.id == id } }

    func contains(where predicate: (IdentityID) -> Bool) -> Bool { entries.contains { predicate($0.id) } }

    /// The set of identities that may receive a message. Identities that attach later count as permitted until the
    /// rights are evaluated again.
    func rights(where mayReceive: (IdentityID) -> Bool) -> MessageRights {
        var rights = MessageRights.later(than: count)
        for (number, entry) in entries.enumerated() where mayReceive(entry.id) { rights.insert(.identity(number)) }
        return rights
    }
}

/// The rights to a message: the set of a durable subscription's identities that may receive it. Also a filter, which
/// selects the messages whose rights have an option in common with it.
struct MessageRights: OptionSet, Hashable {
    var rawValue: UInt16

    private static let maximumCount = DurableRecord.maximumOwners

    /// The rights were not evaluated: each identity counts as permitted.
    static let unknown = MessageRights(rawValue: (1 << (UInt16(maximumCount) + 1)) - 1)
    /// The rights were evaluated: each identity may receive the message.
    static let everyone = later(than: 0)
    /// Marks messages whose rights were not evaluated (see ``unknown``). A filter with this option selects them, too.
    /// The rights of an evaluated message never contain it.
    static let anyone = MessageRights(rawValue: 1 << UInt16(maximumCount))

    /// Whether some identity may not receive the message.
    var isRestricted: Bool { !isSuperset(of: .everyone) }

    static func identity(_ number: Int) -> MessageRights { MessageRights(rawValue: 1 << UInt16(number)) }

    /// The numbers that no identity has yet, if there are `count` identities.
    static func later(than count: Int) -> MessageRights {
        MessageRights(rawValue: (1 << UInt16(maximumCount)) - (1 << UInt16(count)))
    }
}
