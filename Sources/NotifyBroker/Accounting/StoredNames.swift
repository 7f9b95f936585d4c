import NotifyLog
import NotifyWire

/// The distinct names under which each user's posts are stored. The number of names is limited, because the log keeps
/// each of them in memory.
struct StoredNames {
    /// The maximum number of names per user.
    var limit: Int
    private var names: [UInt32: StoredNameSet]
    /// The last name recorded, for a fast path: most posts have the same name as the previous one.
    private var latest: (uid: UInt32, hash: Int, batch: UInt64)?

    /// - Parameter names: The names that are in the log.
    init(_ names: [UInt32: StoredNameSet] = [:], limit: Int) {
        self.names = names
        self.limit = limit
    }

    /// Records that `uid` stores a message under `name`.
    ///
    /// - Parameter batch: The batch with the message.
    /// - Returns: The memory of a new name in bytes; 0 for a known one.
    /// - Throws: `limitReached` if the name is new and the user has reached the limit.
    mutating func note(
        _ name: UnsafeRawBufferPointer, by uid: UInt32, in batch: UInt64, isLimited: Bool = true
    ) throws(WireError) -> Int {
        let hash = StoredNameSet.hash(name)
        if let latest, latest == (uid, hash, batch) { return 0 }
        latest = (uid, hash, batch)
        if names[uid]?.note(hash: hash, in: batch) ?? false { return 0 }
        guard !isLimited || names[uid]?.count ?? 0 < limit else {
            latest = nil
            throw WireError(
                .limitReached,
                "\(uid.userTitle) has reached the limit of \(limit) names of stored messages (limits.per_user.names): a name is "
                    + "free again once all its messages are deleted, by the retention or by a purge of the name")
        }
        return names[uid, default: StoredNameSet()].insert(hash: hash, length: name.count, batch: batch)
    }

    /// Forgets all names.
    ///
    /// - Returns: The memory that each user is no longer charged for.
    mutating func removeAll() -> [(uid: UInt32, bytes: Int)] {
        defer { (names, latest) = ([:], nil) }
        return names.map { ($0.key, $0.value.bytes) }
    }

    /// Forgets a name that is no longer in the log.
    ///
    /// - Parameter unfinished: The batches whose outcome is unknown. A name is kept if one of these batches stores a
    ///   message under it.
    /// - Returns: The users who had stored messages under the name, and the memory that each of them is no longer
    ///   charged for.
    mutating func remove(_ name: [UInt8], unlessIn unfinished: ClosedRange<UInt64>) -> [(uid: UInt32, bytes: Int)] {
        let hash = name.withUnsafeBytes { StoredNameSet.hash($0) }
        latest = nil
        let users = names.compactMap { uid, names in
            names.batch(ofHash: hash).map { !unfinished.contains($0) } ?? false ? uid : nil
        }
        return users.map { uid in
            let bytes = names[uid]?.remove(hash: hash, length: name.count) ?? 0
            if names[uid]?.isEmpty ?? false { names[uid] = nil }
            return (uid, bytes)
        }
    }
}
