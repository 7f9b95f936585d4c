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
    }

    private var entries = SlotTable<PlainSlotID, Entry>()
    private var indices: [Identity: Int] = [:]
    /// For each entry, one bit per tag. A bit is set once the identity is known to have the right to post under names
    /// with the tag.
    private var permittedTags: ContiguousArray<UInt64> = []

    var count: Int { indices.count }

    /// Interns an identity. The caller must release the id once.
    mutating func retain(_ identity: Identity) -> IdentityID {
        if let index = indices[identity] {
            entries[index].references += 1
            return IdentityID(index: index)
        }
        let index = entries.insert { _ in Entry(identity: identity, references: 1) }.index
        indices[identity] = index
        if index == permittedTags.count { permittedTags.append(0) } else { permittedTags[index] = 0 }
        return IdentityID(index: index)
    }

    /// Adds a reference to an interned identity. The caller must release the id once more.
    mutating func retain(_ id: IdentityID) {
        entries[id.index].references += 1
    }

    mutating func release(_ id: IdentityID) {
        entries[id.index].references -= 1
        guard entries[id.index].references == 0 else { return }
        indices[entries[id.index].identity] = nil
        entries.remove(id.index)
    }

    subscript(id: IdentityID) -> Identity {
        @inline(__always) _read { yield entries[id.index].identity }
    }

    /// One of the user's identities; nil if there is none. Takes time in proportion to the number of identities.
    func first(of uid: UInt32) -> Identity? { indices.keys.first { $0.uid == uid } }

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

    /// Forgets all decisions.
    mutating func forgetPermitted() {
        for index in permittedTags.indices { permittedTags[index] = 0 }
    }
}
