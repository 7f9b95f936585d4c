import NotifyWire

/// The attached members.
extension DurableSubscription {
    var memberCount: Int { _members.count }

    var hasMembers: Bool { !_members.isEmpty }

    /// Whether the attachment of a member is committed.
    var hasCommittedMember: Bool { _members.hasCommitted }

    /// The member that has been attached longest; nil if there is none.
    var firstMember: Member? { _members.first }

    /// The attachments of the members, beginning with the member that has been attached longest.
    var attachments: [Attachment] { _members.allIndices.compactMap { _members[$0]?.attachment } }

    /// The members that may get messages and have room.
    var membersWithRoom: some Sequence<Member> { _members.withRoom }

    /// The number of messages that were delivered to members and not answered.
    var unacknowledged: Int { _members.unacknowledged }

    /// The number of messages that the members have acknowledged.
    var acknowledgedCount: UInt64 { _members.acknowledgedCount }

    @inline(__always)
    func attachment(at index: Int) -> Attachment? { _members[index]?.attachment }

    func memberIndex(of attachment: Attachment) -> Int? { _members.index(of: attachment) }

    // MARK: Identities

    /// Whether an identity has a member.
    func hasMember(of identity: IdentityID) -> Bool { _members.hasMember(of: identity) }

    /// The number of different identities of members.
    var memberIdentityCount: Int { _members.identityCount }

    /// The filter for messages that at least one member may receive.
    var rightsOfMembers: MessageRights {
        _members.all.reduce(into: MessageRights.anyone) { rights, member in
            if let number = identities.number(of: member.attachment.identity) { rights.insert(.identity(number)) }
        }
    }

    /// The identities to record again before `identity` attaches. A new identity replaces the one that was recorded
    /// longest ago. Recording those with members again ensures that it replaces one without a member.
    ///
    /// While other attachments are pending, their effect on the order is unknown. So all identities with members are
    /// recorded, except `identity` itself; none if `identity` is known and has a member, because then no pending
    /// attachment replaces it.
    func identitiesToKeep(before identity: IdentityID) -> [IdentityID] {
        let isKnown = identities.number(of: identity) != nil
        guard pendingAttachments > 0 else { return isKnown ? [] : identities.kept(where: _members.hasMember) }
        return isKnown && hasMember(of: identity) ? [] : _members.allIdentities.filter { $0 != identity }
    }

    // MARK: Attaching and detaching

    /// Adds a member, and returns its index.
    mutating func attached(_ attachment: Attachment, credit: UInt32) -> Int {
        _members.add(attachment, credit: credit)
    }

    /// Records that an attachment is committed.
    ///
    /// - Returns: False if the attachment has ended.
    mutating func attachmentCommitted(_ attachment: Attachment) -> Bool {
        guard let index = _members.index(of: attachment), _members[index]?.isCommitted == false else { return false }
        _members.update(index) { $0.committed() }
        return true
    }

    /// Ends all attachments. The next attachment begins with the unacknowledged messages.
    mutating func detached() {
        guard !_members.isEmpty else { return }
        for index in _members.allIndices { _ = _members.remove(index) }
        reader = nil
        giveBackAll()
    }

    /// Takes all messages in flight back from members, including ended ones, without a failure or a delay.
    mutating func giveBackAll() {
        endedMembers = EndedMembers()
        _redeliveries.giveBackAll()
        rewind()
    }

    /// Lets the next attachment begin with the unacknowledged messages. First deliveries that belong to ended members
    /// must have moved to the redeliveries before.
    mutating func rewind() {
        _cursor.rewind()
        earlierDeadlines = EarlierDeadlines()
    }

    /// The maximum number of processes that a message names as holders.
    private static let namedHolders = 8

    /// The part of an error message that names the attached processes, and the action to take.
    var holders: String {
        let pids = Set(_members.all.map(\.attachment.pid)).sorted()
        let named = pids.prefix(Self.namedHolders).map(String.init).joined(separator: ", ")
        let others = pids.count > Self.namedHolders ? " and \(pids.count - Self.namedHolders) more" : ""
        return pids.count == 1 ? "process \(named): end it" : "processes \(named)\(others): end them"
    }

    // MARK: Turns

    /// The next member to get a message; nil if no member that may take a turn has room. Stalled members take turns
    /// only if all are stalled. The caller checks the room of the member's connection.
    @inline(__always)
    mutating func candidate() -> Int? { _members.candidate() }

    /// The member whose turn it is; nil if its turn is over, if it has no room, or if it is stalled and others are not.
    @inline(__always)
    var turnHolder: Int? { _members.turnHolder }

    /// The connection and the subscription number to which a member's messages are sent.
    @inline(__always)
    func recipient(at index: Int) -> (connection: ConnectionSlot, number: UInt32) { _members.recipient(at: index) }

    /// Leaves the candidate out until its connection has room.
    mutating func blockCandidate() {
        _members.blockCandidate()
    }

    /// Ends the turn of the candidate, because it may not receive the next message.
    mutating func passTurn() {
        _members.passTurn()
    }

    /// Records that a connection has room again.
    mutating func wakeMembers(on connection: ConnectionID) {
        _members.wake(connection)
    }

    mutating func creditAdded(_ messages: UInt32, to index: Int) {
        _members.update(index) { $0.creditAdded(messages) }
    }
}
