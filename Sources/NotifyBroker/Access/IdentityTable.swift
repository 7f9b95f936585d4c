import NotifyCenter
import NotifyLog

/// The id of an interned identity.
struct IdentityID: Hashable, Sendable {
    fileprivate let index: Int
}

/// Interned, reference-counted identities of connections, durable subscriptions and pending attachments.
struct IdentityTable {
    private struct Entry {
        var identity: Identity
        var references: Int
        var limits: UserLimits
    }

    private var entries = SlotTable<PlainSlotID, Entry>()
    private var indices: [Identity: Int] = [:]
    /// For each entry, one bit for each of the tags 1 to 63 of ``PostRules``. A bit is set once the identity is known
    /// to have the right to post under names with the tag.
    private var permittedTags: ContiguousArray<UInt64> = []
    /// The rules for the limits of identities. Setting them updates the limits of every interned identity.
    var limitRules = UserLimitRules() {
        didSet {
            for index in entries.indices { entries[index].limits = limitRules.limits(for: entries[index].identity) }
        }
    }

    var count: Int { indices.count }

    /// Interns an identity. The caller must release the id once.
    mutating func retain(_ identity: Identity) -> IdentityID {
        if let index = indices[identity] {
            entries[index].references += 1
            return IdentityID(index: index)
        }
        let limits = limitRules.limits(for: identity)
        let index = entries.insert { _ in Entry(identity: identity, references: 1, limits: limits) }.index
        indices[identity] = index
        if index == permittedTags.count { permittedTags.append(0) } else { permittedTags[index] = 0 }
        return IdentityID(index: index)
    }

    /// Adds a reference to an interned identity. The caller must release the id once more.
    mutating func retain(_ id: IdentityID) {
        entries[id.index].references += 1
    }

    /// - Returns: The identity if this was its last reference.
    @discardableResult
    mutating func release(_ id: IdentityID) -> Identity? {
        entries[id.index].references -= 1
        guard entries[id.index].references == 0 else { return nil }
        let identity = entries[id.index].identity
        indices[identity] = nil
        // Frees the groups now: the table keeps a removed entry until its slot is reused.
        entries[id.index].identity.groups = []
        entries.remove(id.index)
        return identity
    }

    subscript(id: IdentityID) -> Identity {
        @inline(__always) _read { yield entries[id.index].identity }
    }

    // MARK: Limits

    /// The limits of an identity.
    @inline(__always)
    func limits(of id: IdentityID) -> UserLimits { entries[id.index].limits }

    /// The limits of each user with an identity. Limits may depend on groups, so these are the limits of one of the
    /// user's identities.
    var limitsByUser: [UInt32: UserLimits] {
        indices.reduce(into: [:]) { limits, entry in limits[entry.key.uid] = entries[entry.value].limits }
    }

    // MARK: Decisions about posts

    /// Whether a post under a name with this tag is known to be permitted. Only tags below 64 are recorded.
    @inline(__always)
    func isPermitted(_ tag: UInt16, _ id: IdentityID) -> Bool {
        tag < 64 && permittedTags[id.index] & (1 &<< UInt64(tag)) != 0
    }

    mutating func setPermitted(_ tag: UInt16, _ id: IdentityID) {
        guard tag > 0, tag < 64 else { return }
        permittedTags[id.index] |= 1 << UInt64(tag)
    }

    /// Discards all recorded decisions about posts.
    mutating func forgetPermitted() {
        for index in permittedTags.indices { permittedTags[index] = 0 }
    }
}
