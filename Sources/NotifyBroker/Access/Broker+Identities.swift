import NotifyLog

/// Interns identities, and charges users for the memory of their groups, because a process may have up to 65,536
/// groups.
extension Broker {
    /// Interns an identity. If it is new, charges its groups to the user. The caller must release the id once.
    mutating func retainIdentity(_ identity: Identity) -> IdentityID {
        let count = access.identityCount
        let id = access.retain(identity)
        if access.identityCount > count { ledger.change(.identityBytes, by: identity.groupBytes, uid: identity.uid) }
        return id
    }

    mutating func releaseIdentity(_ id: IdentityID) {
        guard let identity = access.release(id) else { return }
        ledger.change(.identityBytes, by: -identity.groupBytes, uid: identity.uid)
    }
}

extension Identity {
    fileprivate var groupBytes: Int { groups.count * MemoryLayout<UInt32>.stride }
}
