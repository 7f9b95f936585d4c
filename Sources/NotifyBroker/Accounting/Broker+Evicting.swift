/// Eviction of caches.
extension Broker {
    /// Evicts cached resolutions and the tail ring when users hold more than 3/4 of the memory limit. Restores the
    /// limits of these caches when users hold less than half of the memory limit.
    mutating func evictIfNeeded() {
        let limit = ledger.memoryLimit
        if !ledger.isEvicting, ledger.totalBytes > limit - limit / 4 {
            ledger.isEvicting = true
            subscriptions.limitCache(isReduced: true)
            pages.readers.limitRing(toBytes: 0)
        } else if ledger.isEvicting, ledger.totalBytes < limit / 2 {
            ledger.isEvicting = false
            subscriptions.limitCache(isReduced: false)
            pages.readers.limitRing(toBytes: configuration.tailRingBytes)
        }
    }

    /// The memory of caches and of counts by name, which is charged to no user.
    var sharedBytes: Int { subscriptions.cacheBytes + pages.readers.ring.bytes + recorder.nameCounts.byteCount }
}
