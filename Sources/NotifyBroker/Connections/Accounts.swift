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
