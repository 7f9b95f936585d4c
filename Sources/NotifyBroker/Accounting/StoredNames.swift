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

    /// Notes that `uid` stores something under `name`, unless that passes the limit.
    mutating func note(_ name: UnsafeRawBufferPointer, by uid: UInt32) throws(WireError) {
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
