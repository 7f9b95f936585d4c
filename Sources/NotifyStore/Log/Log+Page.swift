import NotifyLog
import NotifyWire

extension Log {
    /// Reads the next matching messages of a subscription.
    func readPage(_ request: PageRequest) -> Page {
        let result: Result<Page.Content, StorageFailure>
        do {
            // Taken out meanwhile, so that it is not copied when it changes.
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

    /// The matches of the subscription that were cached under the same rights.
    private func takeMatchCache(for request: PageRequest) -> FilterMatchCache? {
        guard let subscription = request.subscription,
            let cache = matchCaches.removeValue(forKey: subscription), cache.access.agrees(with: request.access)
        else { return nil }
        return cache
    }

    /// Over the limit all other caches are dropped. They fill again as they are used.
    private func keep(_ cache: FilterMatchCache, of subscription: DurableID) {
        let total = matchCaches.values.reduce(cache.byteCount) { $0 + $1.byteCount }
        if total > options.filterMemoryBytes { matchCaches.removeAll() }
        if cache.byteCount <= options.filterMemoryBytes { matchCaches[subscription] = cache }
    }
}
