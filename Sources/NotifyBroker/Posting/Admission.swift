import NotifyCenter

/// What is decided about a message before it is published: who receives it, and whether it is stored.
struct Admission {
    let resolution: Resolution
    /// The number of volatile subscribers, which precede the durable ones in the resolution.
    let volatileCount: Int
    /// The account towards which the message counts in the log; nil if it is not stored.
    var account: StoredUsages.Account?
    /// Whether the batch with the message is flushed to disk.
    var isSynced = false
    /// Whether the message counts among what the subscriptions of its user have failed to process.
    var isDeadLetter = false

    @inline(__always)
    init(_ resolution: Resolution) {
        self.resolution = resolution
        volatileCount = resolution.volatileCount
    }

    var durableCount: Int { resolution.count - volatileCount }
}
