import NotifyLog
import NotifyWire

extension Log {
    /// Reads the next matching messages of a subscription.
    func readPage(_ request: PageRequest) -> Page {
        let result: Result<Page.Content, StorageFailure>
        do {
            // Taken out for the while, so that it is not copied when it changes.
            let memo = takeMemo(for: request) ?? FilterMemo(filter: request.filter, access: request.access)
            let page = try PageReader(request, memo: memo, log: self).read()
            if let subscription = request.subscription { remember(page.memo, of: subscription) }
            result = .success(page.content)
            statistics.pagesRead += 1
        } catch {
            result = .failure(failure(error))
        }
        measureFiles()
        return Page(reader: request.reader, result: result, statistics: statistics)
    }

    /// What was judged for the subscription under the same rights.
    private func takeMemo(for request: PageRequest) -> FilterMemo? {
        guard let subscription = request.subscription, let memo = memos.removeValue(forKey: subscription),
            memo.access.agrees(with: request.access)
        else { return nil }
        return memo
    }

    /// Over the limit all others are forgotten. They fill again as they are used.
    private func remember(_ memo: FilterMemo, of subscription: DurableID) {
        let total = memos.values.reduce(memo.byteCount) { $0 + $1.byteCount }
        if total > options.filterMemoryBytes { memos.removeAll() }
        if memo.byteCount <= options.filterMemoryBytes { memos[subscription] = memo }
    }
}
