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

    private var entries: ContiguousArray<Entry> = []
    private var indices: [Identity: Int] = [:]
    private var free: [Int] = []

    var count: Int { indices.count }

    /// Returns the identity's id, which is to be released once.
    mutating func retain(_ identity: Identity) -> IdentityID {
        if let index = indices[identity] {
            entries[index].users += 1
            return IdentityID(index: index)
        }
        let entry = Entry(identity: identity, users: 1)
        let index = free.popLast() ?? entries.count
        if index == entries.count { entries.append(entry) } else { entries[index] = entry }
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
        free.append(id.index)
    }

    subscript(id: IdentityID) -> Identity {
        @inline(__always) _read { yield entries[id.index].identity }
    }
}
