import NotifyLog

/// The state that the log keeps between reads of pages: the names that match each subscription, the size of the last
/// page, and counters.
struct PageCaches: ~Copyable {
    private var matchCaches: [DurableID: FilterMatchCache] = [:]
    /// The initial capacity of a page's buffer in bytes: the size of the last page.
    private(set) var pageCapacity = 4096
    private(set) var pagesRead: UInt64 = 0
    var work = ReadWork()

    /// Takes out the match cache for a request, so that changing it makes no copy. Returns a new cache if the
    /// subscription has none for the same filter and the same rights.
    mutating func takeMatchCache(for request: PageRequest) -> FilterMatchCache {
        guard let subscription = request.subscription,
            let cache = matchCaches.removeValue(forKey: subscription), cache.access.agrees(with: request.access),
            cache.filter == request.filter
        else { return FilterMatchCache(filter: request.filter, access: request.access) }
        return cache
    }

    /// Notes that a page was read.
    mutating func noteRead() { pagesRead += 1 }

    /// Notes the bytes of a page and the number of names that were matched for it.
    mutating func note(bytes: Int, maximumBytes: Int, namesMatched: Int) {
        work.namesMatched += UInt64(namesMatched)
        pageCapacity = min(max(4096, bytes), maximumBytes)
    }

    /// Keeps the cache of a subscription. If all caches together exceed the limit, the other caches are dropped, and
    /// filled again on use.
    mutating func keep(_ cache: FilterMatchCache, of subscription: DurableID, limit: Int) {
        let total = matchCaches.values.reduce(cache.byteCount) { $0 + $1.byteCount }
        if total > limit { matchCaches.removeAll() }
        if cache.byteCount <= limit { matchCaches[subscription] = cache }
    }

    /// Drops the matching names of a subscription that ends or gets another filter.
    mutating func forget(_ subscription: DurableID) { matchCaches[subscription] = nil }

    /// Forgets a name that is removed.
    mutating func forget(_ name: NameTable.Number) {
        for subscription in matchCaches.keys { matchCaches[subscription]?.forget(name) }
    }

    /// Continues the counters of the log that this one replaces.
    mutating func adopt(_ old: borrowing PageCaches) { (work, pagesRead) = (old.work, old.pagesRead) }
}

/// Counters of the work of reading pages. Tests use them to check that segments are skipped.
package struct ReadWork: Equatable, Sendable {
    package var rowsScanned: UInt64 = 0
    package var segmentsSkipped: UInt64 = 0
    package var namesMatched: UInt64 = 0
}
