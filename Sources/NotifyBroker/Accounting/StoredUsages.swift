import NotifyLog
import NotifyUnits
import NotifyWire

/// The number and bytes of each user's messages in the log, including messages that wait for the store.
///
/// Messages that a user has posted count towards its limit of stored bytes. Copies of messages that are delivered
/// again, and dead letters, count towards a second limit of the same size: the user's share for failed messages. The
/// limits are separate, because other users may have posted the messages that the user's durable subscriptions fail to
/// process.
struct StoredUsages {
    /// The account of a user. Valid as long as the daemon runs.
    struct Account {
        fileprivate let index: Int
    }

    private var accounts: [UInt32: Account] = [:]
    private var usages: ContiguousArray<StoredUsage> = []
    /// The bytes of each user's copies. Users without copies have no entry.
    private(set) var copies: [UInt32: Int] = [:]

    init(_ recovered: [UInt32: StoredUsage] = [:]) {
        for (uid, usage) in recovered { usages[account(of: uid).index] = usage }
    }

    /// The users with stored messages.
    var users: Set<UInt32> {
        Set(accounts.lazy.filter { usages[$0.value.index].bytes > 0 }.map(\.key)).union(copies.keys)
    }

    func usage(of uid: UInt32) -> StoredUsage { accounts[uid].map { usages[$0.index] } ?? StoredUsage() }

    /// The bytes of the copies and dead letters of a user's durable subscriptions.
    func failedBytes(of uid: UInt32) -> Int { copyBytes(of: uid) + usage(of: uid).deadLetterBytes }

    /// Returns the account of a user, and opens one if there is none.
    mutating func account(of uid: UInt32) -> Account {
        if let account = accounts[uid] { return account }
        let account = Account(index: usages.count)
        usages.append(StoredUsage())
        accounts[uid] = account
        return account
    }

    /// - Throws: `limitReached` if the user would exceed `limit` with a message of `bytes`.
    @inline(__always)
    func check(adding bytes: Int, to account: Account, of uid: UInt32, limit: UInt64?) throws(WireError) {
        guard let limit, UInt64(usages[account.index].postedBytes + bytes) > limit else { return }
        throw exceeded(by: bytes, of: uid, limit)
    }

    private func exceeded(by bytes: Int, of uid: UInt32, _ limit: UInt64) -> WireError {
        WireError(
            .limitReached,
            "\(uid.userTitle) stores \(Quantity.rounded(bytes: UInt64(usage(of: uid).postedBytes))): a message of \(bytes) "
                + "bytes would exceed the limit of \(Quantity.rounded(bytes: limit)) (limits.per_user.stored_bytes). "
                + "Start the subscribers that are behind: messages that are read are deleted after history_age "
                + "(log.retention). Root can delete messages with 'notifyctl purge', or raise the limit")
    }

    /// Adds a message that joins the next batch.
    @inline(__always)
    mutating func add(_ bytes: Int, to account: Account, isDeadLetter: Bool) {
        usages[account.index].messages += 1
        usages[account.index].bytes += bytes
        if isDeadLetter { usages[account.index].deadLetterBytes += bytes }
    }

    /// Subtracts messages that were not stored, or that the log no longer contains.
    mutating func remove(_ messages: [UInt32: StoredUsage]) {
        for (uid, usage) in messages { usages[account(of: uid).index] += -usage }
    }

    /// The bytes of a user's copies.
    func copyBytes(of uid: UInt32) -> Int { copies[uid] ?? 0 }

    /// Adds the bytes of copies, or subtracts them if the number is negative.
    mutating func changeCopies(by bytes: Int, of uid: UInt32) {
        let sum = copyBytes(of: uid) + bytes
        copies[uid] = sum == 0 ? nil : sum
    }

    /// Sets the usage of each user to that of `messages`. Copies are not affected.
    mutating func reset(to messages: UsageSum) {
        for index in usages.indices { usages[index] = StoredUsage() }
        for (uid, usage) in messages.byUser { usages[account(of: uid).index] = usage }
    }
}
