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

    var count: Int { indices.count }

    /// Interns an identity. The caller must release the id once.
    mutating func retain(_ identity: Identity) -> IdentityID {
        if let index = indices[identity] {
            entries[index].references += 1
            return IdentityID(index: index)
        }
        let index = entries.insert { _ in Entry(identity: identity, references: 1) }.index
        indices[identity] = index
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
}
