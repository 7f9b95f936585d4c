import NotifyCenter
import NotifyLog

/// An interned identity.
struct IdentityID: Hashable, Sendable {
    fileprivate let index: Int
}

/// Identities, each kept once for as long as a connection, a durable subscription or a pending
/// attachment has it.
struct IdentityTable {
    private struct Entry {
        var identity: Identity
        var users: Int
    }

    private var entries = SlotTable<PlainSlotID, Entry>()
    private var indices: [Identity: Int] = [:]

    var count: Int { indices.count }

    /// Returns the identity's id, which is to be released once.
    mutating func retain(_ identity: Identity) -> IdentityID {
        if let index = indices[identity] {
            entries[index].users += 1
            return IdentityID(index: index)
        }
        let index = entries.insert { _ in Entry(identity: identity, users: 1) }.index
        indices[identity] = index
        return IdentityID(index: index)
    }

    /// Adds a user of an interned identity; the id is to be released once more.
    mutating func retain(_ id: IdentityID) {
        entries[id.index].users += 1
    }

    mutating func release(_ id: IdentityID) {
        entries[id.index].users -= 1
        guard entries[id.index].users == 0 else { return }
        indices[entries[id.index].identity] = nil
        entries.remove(id.index)
    }

    subscript(id: IdentityID) -> Identity {
        @inline(__always) _read { yield entries[id.index].identity }
    }
}
