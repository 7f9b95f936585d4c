import NotifyWire

/// What each user has taken of what is limited.
struct Accounts {
    struct Account: Equatable {
        var connections = 0
        var subscriptions = 0
        var durableSubscriptions = 0
        var partialBytes = 0
        var outboxBytes = 0

        var isEmpty: Bool { self == Account() }
    }

    private var accounts: [UInt32: Account] = [:]

    subscript(uid: UInt32) -> Account {
        get { accounts[uid] ?? Account() }
        set { accounts[uid] = newValue.isEmpty ? nil : newValue }
    }

    /// Takes one more of what `usage` counts, unless that passes `limit`.
    mutating func take(
        _ usage: WritableKeyPath<Account, Int>, of uid: UInt32, limit: Int, named what: String
    ) throws(WireError) {
        guard self[uid][keyPath: usage] < limit else {
            throw WireError(.limitReached, "user \(uid) has reached the limit of \(limit) \(what)")
        }
        self[uid][keyPath: usage] += 1
    }
}

/// The names under which each user's posts were stored. They stay in the log, so there is a limit to them.
struct StoredNames {
    private var hashes: [UInt32: Set<Int>] = [:]
    /// The last one noted, as most posts follow one of the same name.
    private var latest: (uid: UInt32, hash: Int)?

    /// Notes that `uid` stores something under `name`, unless that passes `limit` names.
    mutating func note(_ name: UnsafeRawBufferPointer, by uid: UInt32, limit: Int) throws(WireError) {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        let hash = hasher.finalize()
        if let latest, latest == (uid, hash) { return }
        guard hashes[uid, default: []].count < limit || hashes[uid, default: []].contains(hash) else {
            throw WireError(.limitReached, "user \(uid) has reached the limit of \(limit) names of stored messages")
        }
        hashes[uid, default: []].insert(hash)
        latest = (uid, hash)
    }
}
