import NotifyWire

/// Counts of posts by name. Counting begins with a request for the list of names, and ends when the list has not been
/// requested for 10 seconds.
struct NameCounts {
    struct Entry: Equatable {
        let name: String
        var posts: UInt64 = 0
        var payloadBytes: UInt64 = 0
        /// Messages dropped because a connection was too slow. Excludes messages that the overflow policy `keepLatest`
        /// replaces by later ones, because the connection has requested only the latest.
        var dropped: UInt64 = 0
        /// The number of connections to which the latest post was sent, and of durable subscriptions for which it was
        /// stored.
        var subscribers: UInt32 = 0
        var durables: UInt32 = 0
    }

    /// The maximum number of names. To make room for another name, the half with the fewest posts is removed.
    static let maximumNames = 16_384
    /// The time for which names are counted after a request.
    static let lease = Duration.seconds(10)
    private static let entryBytes = 128

    private(set) var entries: [Entry] = []
    private var indices: [String: Int] = [:]
    /// The time at which counting ends; nil while names are not counted.
    private(set) var deadline: Duration?
    /// The memory of the counts, in bytes.
    private(set) var byteCount = 0

    var isCounting: Bool { deadline != nil }

    /// Begins to count, or extends the time until counting ends.
    mutating func requested(now: Duration) {
        deadline = now + Self.lease
    }

    /// Stops counting if the deadline has passed.
    mutating func expire(now: Duration) {
        if let deadline, deadline <= now { self = NameCounts() }
    }

    mutating func posted(_ parts: MessageParts, subscribers: UInt32, durables: UInt32) {
        let index = index(of: parts.name)
        entries[index].posts += 1
        entries[index].payloadBytes += UInt64(parts.payload.count)
        entries[index].subscribers = subscribers
        entries[index].durables = durables
    }

    mutating func dropped(_ name: UnsafeRawBufferPointer) {
        entries[index(of: name)].dropped += 1
    }

    /// The index of a name. Adds the name if it is new.
    private mutating func index(of name: UnsafeRawBufferPointer) -> Int {
        let name = String(decoding: name, as: UTF8.self)
        if let index = indices[name] { return index }
        if entries.count >= Self.maximumNames { removeRarest() }
        entries.append(Entry(name: name))
        indices[name] = entries.count - 1
        byteCount += Self.entryBytes + name.utf8.count
        return entries.count - 1
    }

    /// Removes the half of the names with the fewest posts.
    private mutating func removeRarest() {
        entries.sort { $0.posts > $1.posts }
        entries.removeLast(entries.count / 2)
        indices = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.name, $0) })
        byteCount = entries.reduce(0) { $0 + Self.entryBytes + $1.name.utf8.count }
    }
}
