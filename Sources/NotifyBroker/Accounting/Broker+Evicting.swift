/// Memory that can be given up.
extension Broker {
    /// Gives up what only makes the daemon faster, cached resolutions and the tail ring, while users hold most of the memory.
    mutating func evictIfNeeded() {
        let limit = ledger.memoryLimit
        if !isEvicting, ledger.totalBytes > limit - limit / 4 {
            isEvicting = true
            subscriptions.limitCache(isReduced: true)
            readers.limitRing(toBytes: 0)
        } else if isEvicting, ledger.totalBytes < limit / 2 {
            isEvicting = false
            subscriptions.limitCache(isReduced: false)
            readers.limitRing(toBytes: configuration.tailRingBytes)
        }
    }

    /// So many bytes may be read at once for a connection of the user.
    package func readLimit(of uid: UInt32) -> Int { ledger.readLimit(of: uid) }

    /// The memory that is no user's.
    var sharedBytes: Int { subscriptions.cacheBytes + readers.ring.bytes }
}
