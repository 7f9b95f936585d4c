import NotifyWire

/// The hashes of the distinct names under which each user's posts were stored. The number of names is limited, because
/// names stay in the log.
struct StoredNames {
    /// The maximum number of names per user.
    var limit: Int
    private var hashes: [UInt32: Set<Int>] = [:]
    /// The last name recorded, for a fast path: most posts have the same name as the previous one.
    private var latest: (uid: UInt32, hash: Int)?

    init(limit: Int) {
        self.limit = limit
    }

    /// The memory overhead of a name, in this set and in the log's table of names.
    private static let bytesPerName = 96

    /// Records that `uid` stores a message under `name`.
    ///
    /// - Returns: The memory of a new name in bytes; 0 for a known one.
    /// - Throws: `limitReached` if the name is new and the user has reached the limit.
    mutating func note(_ name: UnsafeRawBufferPointer, by uid: UInt32) throws(WireError) -> Int {
        let hash = Self.hash(name)
        if let latest, latest == (uid, hash) { return 0 }
        latest = (uid, hash)
        if hashes[uid]?.contains(hash) ?? false { return 0 }
        guard hashes[uid, default: []].count < limit else {
            latest = nil
            throw WireError(
                .limitReached,
                "user \(uid) has reached the limit of \(limit) names of stored messages (limits.per_user.names)")
        }
        hashes[uid, default: []].insert(hash)
        return name.count + Self.bytesPerName
    }

    /// Forgets a name that is no longer in the log.
    ///
    /// - Returns: The users who had stored messages under the name, and the memory that each of them is no longer
    ///   charged for.
    mutating func remove(_ name: [UInt8]) -> (users: [UInt32], bytes: Int) {
        let hash = name.withUnsafeBytes { Self.hash($0) }
        let users = hashes.keys.filter { hashes[$0]?.contains(hash) ?? false }
        for uid in users {
            hashes[uid]?.remove(hash)
            if hashes[uid]?.isEmpty ?? false { hashes[uid] = nil }
        }
        latest = nil
        return (users, name.count + Self.bytesPerName)
    }

    private static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize()
    }
}
