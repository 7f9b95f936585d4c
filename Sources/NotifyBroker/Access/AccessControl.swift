import NotifyCenter
import NotifyLog
import NotifyWire

/// Decides what identities may do, by the policy. Holds the interned identities and their limits.
struct AccessControl {
    var forbiddenLog = ForbiddenLog()
    private(set) var policy: AccessPolicy
    private var identities = IdentityTable()
    private var postRules = PostRules()

    init(policy: AccessPolicy, limits: UserLimitRules) {
        self.policy = policy
        identities.limitRules = limits
    }

    // MARK: Identities

    /// Interns an identity. The caller must release the id when its holder ends: a connection, a durable subscription
    /// or a pending attachment.
    mutating func retain(_ identity: Identity) -> IdentityID { identities.retain(identity) }
    mutating func retain(_ id: IdentityID) { identities.retain(id) }
    /// - Returns: The identity if this was its last holder.
    mutating func release(_ id: IdentityID) -> Identity? { identities.release(id) }
    func identity(_ id: IdentityID) -> Identity { identities[id] }
    var identityCount: Int { identities.count }

    // MARK: Limits

    @inline(__always)
    func limits(of id: IdentityID) -> UserLimits { identities.limits(of: id) }

    /// The limits of each of `users`. Limits may depend on groups, so these are the limits of one of the user's
    /// interned identities. A user without an interned identity has the limits of an identity without groups.
    func limits(of users: some Sequence<UInt32>) -> [(uid: UInt32, limits: UserLimits)] {
        let known = identities.limitsByUser
        return users.map { uid in
            (uid, known[uid] ?? identities.limitRules.limits(for: Identity(uid: uid, gid: .max)))
        }
    }

    mutating func limitsChanged(to rules: UserLimitRules) { identities.limitRules = rules }

    // MARK: Posting

    /// Whether the identity is known to have the right to post under names with this tag (see ``PostRules``).
    @inline(__always)
    func isPermitted(_ tag: UInt16, _ id: IdentityID) -> Bool { identities.isPermitted(tag, id) }

    /// Checks the right to post under a name.
    ///
    /// - Parameter tag: The tag of the name; 0 for none.
    /// - Returns: The tag to keep with the name, for ``isPermitted(_:_:)``; 0 for none.
    /// - Throws: `forbidden` if the identity may not post under the name.
    mutating func checkPost(
        _ name: UnsafeRawBufferPointer, tagged tag: UInt16 = 0, _ id: IdentityID
    ) throws(WireError) -> UInt16 {
        if policy.isOpen(name) { return 0 }
        let rules = tag == 0 ? policy.nameRules(.post, name) : postRules[tag]
        let decision = policy.decision(rules, identities[id])
        guard decision.isAllowed else {
            let text = String(decoding: name, as: UTF8.self)
            throw WireError(
                .forbidden, "\(identities[id].uid.userTitle) may not post '\(text)': \(decision.reason(for: name))")
        }
        let tag = tag == 0 ? postRules.tag(of: rules) : tag
        identities.setPermitted(tag, id)
        return tag
    }

    // MARK: Receiving

    /// - Throws: `forbidden` if the identity may not subscribe with the pattern.
    func check(_ decision: AccessDecision, _ pattern: NamePattern, _ id: IdentityID) throws(WireError) {
        guard decision.isAllowed else {
            throw WireError(
                .forbidden,
                "\(identities[id].uid.userTitle) may not \(Self.receiving(pattern)): "
                    + pattern.withUTF8 { decision.reason(for: $0) })
        }
    }

    /// The refused action, as the error message words it. For dead letters, the text names their owner instead of the
    /// pattern.
    private static func receiving(_ pattern: NamePattern) -> String {
        let tokens = pattern.string.split(separator: ".")
        guard tokens.starts(with: ["notifyd", "dead"]), tokens.count > 2, let uid = UInt32(tokens[2]) else {
            return "subscribe to '\(pattern)'"
        }
        return "read the dead letters of \(uid.userTitle)"
    }

    /// Whether the rules for receiving a name permit an identity.
    func permits(_ rules: AccessPolicy.NameRules, _ id: IdentityID) -> Bool {
        policy.permits(rules, identities[id])
    }

    /// Whether it is certain that an identity may receive every message that the patterns match. False if that depends
    /// on the message.
    func mayReceiveAll(_ patterns: [NamePattern], _ id: IdentityID) -> Bool {
        patterns.allSatisfy { policy.mayReceiveAll($0, identities[id]) }
    }

    /// The rules for receiving a message: the rules of its name and, for a dead letter, those of the original message's
    /// name.
    struct ReceivingRules {
        fileprivate let name: AccessPolicy.NameRules
        fileprivate let original: AccessPolicy.NameRules?
        /// Whether no identity may receive the message, because it is a dead letter that does not name its original
        /// message.
        fileprivate let isUnreadable: Bool
    }

    func receivingRules(of message: MessageParts) -> ReceivingRules {
        let isDeadLetter = DeadLetterHeaders.isDeadLetter(message.name)
        let original =
            isDeadLetter ? DeadLetterHeaders.withOriginalName(of: message) { policy.nameRules(.subscribe, $0) } : nil
        return ReceivingRules(
            name: policy.nameRules(.subscribe, message.name), original: original,
            isUnreadable: isDeadLetter && original == nil)
    }

    func permits(_ rules: ReceivingRules, _ id: IdentityID) -> Bool {
        !rules.isUnreadable && permits(rules.name, id) && (rules.original.map { permits($0, id) } ?? true)
    }

    // MARK: Managing

    func mayManageEverything(_ id: IdentityID) -> Bool { policy.mayManageEverything(identities[id]) }

    /// - Throws: `forbidden` unless the identity may manage the resources of every user.
    func checkManageEverything(_ id: IdentityID) throws(WireError) {
        let decision = policy.manageDecision(.everyName, identities[id])
        guard decision.isAllowed else {
            throw WireError(
                .forbidden,
                "\(identities[id].uid.userTitle) lacks the right to manage everything: "
                    + NamePattern.everyName.withUTF8 { decision.reason(for: $0) } + Self.manageAdvice)
        }
    }

    /// - Throws: `forbidden` unless the identity may manage every name that the pattern matches.
    func checkManage(_ pattern: NamePattern, _ id: IdentityID) throws(WireError) {
        let decision = policy.manageDecision(pattern, identities[id])
        guard decision.isAllowed else {
            throw WireError(
                .forbidden,
                "\(identities[id].uid.userTitle) may not manage '\(pattern)': "
                    + pattern.withUTF8 { decision.reason(for: $0) } + Self.manageAdvice)
        }
    }

    // MARK: Serving

    /// - Throws: `forbidden` unless the identity may serve every name that the pattern matches.
    func checkServe(_ pattern: NamePattern, _ id: IdentityID) throws(WireError) {
        let decision = policy.serveDecision(pattern, identities[id])
        guard decision.isAllowed else {
            throw WireError(
                .forbidden,
                "\(identities[id].uid.userTitle) may not serve '\(pattern)': "
                    + pattern.withUTF8 { decision.reason(for: $0) }
                    + "; serve names under user.\(identities[id].uid), or add a rule in policy.d that allows it")
        }
    }

    /// The end of the error messages for requests that need a right to manage.
    private static let manageAdvice = "; run the command as root, or add a rule in policy.d that allows the request"

    /// - Throws: `forbidden` unless the identity may manage the durable subscriptions of `uid`.
    func checkManage(uid: UInt32, _ id: IdentityID) throws(WireError) {
        if !policy.mayManage(uid: uid, identities[id]) { try checkManageEverything(id) }
    }

    /// The rights that at least one of the identities has, for a reader of stored messages.
    func readAccess(of ids: [IdentityID]) -> ReadAccess {
        ReadAccess(policy: policy, identities: ids.map { identity($0) })
    }

    /// The rights of an identity, for a reader of stored messages.
    func readAccess(of id: IdentityID) -> ReadAccess {
        ReadAccess(policy: policy, identity: identities[id])
    }

    /// Replaces the policy. The caller must discard all earlier tags, and decisions cached under earlier generations.
    mutating func policyChanged(to policy: AccessPolicy) {
        precondition(policy.generation > self.policy.generation, "the generation of a new policy must be higher")
        self.policy = policy
        postRules = PostRules()
        identities.forgetPermitted()
    }
}
