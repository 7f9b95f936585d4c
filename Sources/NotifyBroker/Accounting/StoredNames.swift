import NotifyWire

/// The names under which each user's posts were stored. They stay in the log, so there is a limit to them.
struct StoredNames {
    private let limit: Int
    private var hashes: [UInt32: Set<Int>] = [:]
    /// The last one noted, as most posts follow one of the same name.
    private var latest: (uid: UInt32, hash: Int)?

    /// - Parameter limit: The highest number of names for each user.
    init(limit: Int) {
        self.limit = limit
    }

    /// What a name takes in memory here and in the log's table, beside its own bytes.
    private static let bytesPerName = 96

    /// Notes that `uid` stores something under `name`, unless that passes the limit.
    ///
    /// - Returns: The memory that a new name takes; 0 for one that is known.
    mutating func note(_ name: UnsafeRawBufferPointer, by uid: UInt32) throws(WireError) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        let hash = hasher.finalize()
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
}
