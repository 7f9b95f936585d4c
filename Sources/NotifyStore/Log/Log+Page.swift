import NotifyLog
import NotifyWire

extension Log {
    /// Reads the next matching messages of a subscription.
    func readPage(_ request: PageRequest) -> Page {
        let result: Result<Page.Content, StorageFailure>
        do {
            // Taken out for the while, so that it is not copied when it changes.
            let memo = memos.removeValue(forKey: request.subscription) ?? FilterMemo(filter: request.filter)
            let page = try PageReader(request, memo: memo, log: self).read()
            remember(page.memo, of: request.subscription)
            result = .success(page.content)
            statistics.pagesRead += 1
        } catch {
            result = .failure(failure(error))
        }
        measureFiles()
        return Page(
            subscription: request.subscription, generation: request.generation, result: result, statistics: statistics)
    }

    /// Over the limit all others are forgotten. They fill again as they are used.
    private func remember(_ memo: FilterMemo, of subscription: UInt32) {
        let total = memos.values.reduce(memo.byteCount) { $0 + $1.byteCount }
        if total > options.filterMemoryBytes { memos.removeAll() }
        if memo.byteCount <= options.filterMemoryBytes { memos[subscription] = memo }
    }
}
