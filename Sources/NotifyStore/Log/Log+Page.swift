import NotifyLog
import NotifyWire

extension Log {
    /// Reads the next page of matching messages.
    func readPage(_ request: PageRequest) -> Page {
        let result: Result<Page.Content, StorageFailure>
        do {
            if let values = request.values {
                let content = try ValueReader(request, log: self).read(values)
                pageCaches.noteRead()
                return Page(for: request.purpose, result: .success(content), statistics: statistics)
            }
            let cache = pageCaches.takeMatchCache(for: request)
            let page = try PageReader(request, matchCache: cache, log: self).read()
            if let subscription = request.subscription {
                pageCaches.keep(page.matchCache, of: subscription, limit: options.filterMemoryBytes)
            }
            result = .success(page.content)
            pageCaches.noteRead()
        } catch {
            result = .failure(failure(error))
        }
        disk.measure()
        return Page(for: request.purpose, result: result, statistics: statistics)
    }
}
