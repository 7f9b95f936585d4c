import NotifyWire

/// An index of the members of a durable subscription by id, attachment, identity and client.
struct MemberRegistry {
    /// Identifies an attachment that has not ended.
    private struct AttachmentKey: Hashable {
        let connection: ConnectionID
        let number: UInt32

        init(_ attachment: Attachment) { (connection, number) = (attachment.connection, attachment.number) }
    }

    private var indices: [MemberID: Int] = [:]
    private var attachments: [AttachmentKey: Int] = [:]
    private var presences = Presences()
    /// The number of members of each identity.
    private var identities: [IdentityID: Int] = [:]

    /// The number of different identities of members.
    var identityCount: Int { identities.count }

    func hasMember(of identity: IdentityID) -> Bool { identities[identity] != nil }

    func index(of id: MemberID) -> Int? { indices[id] }

    /// The index of the member for an attachment: the one with the same connection and number.
    func index(of attachment: Attachment) -> Int? { attachments[AttachmentKey(attachment)] }

    /// Whether a client has members on other connections.
    func isElsewhere(_ instance: InstanceID, than connection: ConnectionID) -> Bool {
        presences.isElsewhere(instance, than: connection)
    }

    mutating func add(_ member: Member, at index: Int) {
        indices[member.id] = index
        attachments[AttachmentKey(member.attachment)] = index
        presences.change(member.attachment, by: 1)
        identities[member.attachment.identity, default: 0] += 1
    }

    mutating func remove(_ member: Member) {
        indices[member.id] = nil
        attachments[AttachmentKey(member.attachment)] = nil
        presences.change(member.attachment, by: -1)
        let others = (identities[member.attachment.identity] ?? 1) - 1
        identities[member.attachment.identity] = others > 0 ? others : nil
    }
}
