import NotifyCenter

/// The decisions about a message before it is published: its subscribers, and whether it is stored.
struct Admission {
    let resolution: Resolution
    /// The number of volatile subscribers, which precede the durable ones in the resolution.
    let volatileCount: Int
    /// The account that is charged for the stored message; nil if the message is not stored.
    var account: StoredUsages.Account?
    /// Whether the batch with the message is flushed to disk.
    var isSynced = false
    /// Whether the message is a dead letter, which counts towards the failed bytes of its user.
    var isDeadLetter = false

    @inline(__always)
    init(_ resolution: Resolution) {
        self.resolution = resolution
        volatileCount = resolution.volatileCount
    }

    var durableCount: Int { resolution.count - volatileCount }
}
