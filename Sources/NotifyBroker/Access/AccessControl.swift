import NotifyCenter
import NotifyLog
import NotifyWire

/// Access decisions, made from the policy and the interned identities.
struct AccessControl {
    private(set) var policy: AccessPolicy
    private var identities = IdentityTable()

    init(policy: AccessPolicy) {
        self.policy = policy
    }

    // MARK: Identities

    /// Interns an identity. The caller must release the id when the connection, durable subscription or pending
    /// attachment that holds it ends.
    mutating func retain(_ identity: Identity) -> IdentityID { identities.retain(identity) }
    mutating func retain(_ id: IdentityID) { identities.retain(id) }
    mutating func release(_ id: IdentityID) { identities.release(id) }
    func identity(_ id: IdentityID) -> Identity { identities[id] }
    var identityCount: Int { identities.count }

    // MARK: Decisions

    /// - Throws: `forbidden` if the identity may not post under the name.
    func checkPost(_ name: UnsafeRawBufferPointer, _ id: IdentityID) throws(WireError) {
        guard policy.isOpen(name) || policy.mayPost(name, identities[id]) else {
            let text = String(decoding: name, as: UTF8.self)
            throw WireError(
                .forbidden, "user \(identities[id].uid) may not post '\(text)': \(policy.rule(for: name))")
        }
    }

    /// - Throws: `forbidden` if the identity may not subscribe with the pattern.
    func checkSubscribe(_ pattern: NamePattern, _ id: IdentityID) throws(WireError) {
        guard policy.maySubscribe(pattern, identities[id]) else {
            throw WireError(
                .forbidden,
                "user \(identities[id].uid) may not subscribe to '\(pattern)': "
                    + pattern.withUTF8 { policy.rule(for: $0) })
        }
    }

    func mayReceive(_ name: UnsafeRawBufferPointer, _ id: IdentityID) -> Bool {
        policy.isOpen(name) || policy.mayReceive(name, identities[id])
    }

    func mayManage(uid: UInt32, _ id: IdentityID) -> Bool { policy.mayManage(uid: uid, identities[id]) }

    /// - Throws: `forbidden` if the identity may not manage the durable subscriptions of `uid`.
    func checkManage(uid: UInt32, _ id: IdentityID) throws(WireError) {
        guard mayManage(uid: uid, id) else {
            throw WireError(
                .forbidden, "user \(identities[id].uid) may not manage durable subscriptions of user \(uid)")
        }
    }

    /// The rights of an identity, for a reader of stored messages.
    func readAccess(of id: IdentityID) -> ReadAccess {
        ReadAccess(policy: policy, identity: identities[id])
    }

    /// Replaces the policy. Decisions cached under another generation are not used any more.
    mutating func policyChanged(to policy: AccessPolicy) {
        precondition(policy.generation > self.policy.generation, "the generation of a new policy must be higher")
        self.policy = policy
    }
}
