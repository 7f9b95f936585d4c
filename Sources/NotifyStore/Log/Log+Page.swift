import NotifyLog
import NotifyWire

extension Log {
    /// Reads the next page of matching messages.
    func readPage(_ request: PageRequest) -> Page {
        let result: Result<Page.Content, StorageFailure>
        do {
            // The cache is taken out of the dictionary, so that changing it makes no copy.
            let cache = takeMatchCache(for: request) ?? FilterMatchCache(filter: request.filter, access: request.access)
            let page = try PageReader(request, matchCache: cache, log: self).read()
            if let subscription = request.subscription { keep(page.matchCache, of: subscription) }
            result = .success(page.content)
            statistics.pagesRead += 1
        } catch {
            result = .failure(failure(error))
        }
        measureFiles()
        return Page(reader: request.reader, result: result, statistics: statistics)
    }

    /// Removes and returns the subscription's match cache if it was made for the same filter under the same rights.
    private func takeMatchCache(for request: PageRequest) -> FilterMatchCache? {
        guard let subscription = request.subscription,
            let cache = matchCaches.removeValue(forKey: subscription), cache.access.agrees(with: request.access),
            cache.filter == request.filter
        else { return nil }
        return cache
    }

    /// Keeps the cache. If all caches together exceed the limit, the other caches are dropped; they are filled again on
    /// use.
    private func keep(_ cache: FilterMatchCache, of subscription: DurableID) {
        let total = matchCaches.values.reduce(cache.byteCount) { $0 + $1.byteCount }
        if total > options.filterMemoryBytes { matchCaches.removeAll() }
        if cache.byteCount <= options.filterMemoryBytes { matchCaches[subscription] = cache }
    }
}
