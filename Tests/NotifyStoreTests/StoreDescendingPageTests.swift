import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Pages that begin with the newest messages.
@Suite(.timeLimit(.minutes(25)))
struct StoreDescendingPageTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func store(_ messages: [StoredMessage], pageRows: Int = 1000, pageSegments: Int = 100) async throws -> Store
    {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        options.pageRows = pageRows
        options.pageSegments = pageSegments
        let store = try Store.open(path: folder.database, options: options)
        for message in messages { #expect(await store.commit([message]).failure == nil) }
        return store
    }

    private func page(
        _ store: Store, _ filter: SubscriptionFilter, _ range: ClosedRange<UInt64>, maximum: Int = 100
    ) async throws -> Page.Content {
        let request = PageRequest(
            for: .history, filter: filter, access: .of(uid: 0),
            after: range.lowerBound - 1, through: range.upperBound, maximumMessages: maximum, isDescending: true)
        return try await completion { store.readPage(request, completion: $0) }.result.get()
    }

    /// The sequences of all pages of a range, and the number of pages.
    private func pages(
        _ store: Store, _ filter: SubscriptionFilter, _ range: ClosedRange<UInt64>, maximum: Int = 100
    ) async throws -> (sequences: [UInt64], count: Int) {
        var (sequences, count, last) = ([UInt64](), 0, range.upperBound)
        while last >= range.lowerBound {
            let page = try await page(store, filter, range.lowerBound...last, maximum: maximum)
            sequences += page.block.entries.map(\.sequence)
            #expect(page.scannedThrough <= last + 1)
            count += 1
            guard page.scannedThrough > range.lowerBound else { break }
            last = page.scannedThrough - 1
        }
        return (sequences, count)
    }

    private var messages: [StoredMessage] {
        (1...18).map { StoredMessage($0 * 2, $0.isMultiple(of: 3) ? "third" : "a", object: $0 == 6 ? "o" : "") }
    }

    @Test(arguments: [1, 2, 3, 100])
    func `pages contain each matching message once, newest first`(maximum: Int) async throws {
        let store = try await store(messages)
        for pattern in ["a", "third", ">", "none"] {
            let filter = try SubscriptionFilter(pattern)
            let expected = messages.filter { pattern == ">" || $0.name == pattern }.map(\.sequence)
            #expect(try await pages(store, filter, 1...99, maximum: maximum).sequences == expected.reversed())
            let part = expected.filter { (7...20).contains($0) }
            #expect(try await pages(store, filter, 7...20, maximum: maximum).sequences == part.reversed())
        }
        let object = try await pages(store, SubscriptionFilter(">", object: "o"), 1...99, maximum: maximum)
        #expect(object.sequences == [12])
    }

    @Test func `a page is bounded by rows and by segments`() async throws {
        let rows = try await store(messages, pageRows: 5)
        let first = try await page(rows, SubscriptionFilter(">"), 1...99)
        #expect(first.block.entries.map(\.sequence) == [36, 34, 32, 30, 28] && first.scannedThrough == 28)
        #expect(try await pages(rows, SubscriptionFilter(">"), 1...99).sequences.count == 18)
        try rows.close(nextSequence: 100)
        var options = StoreOptions.withoutTimer
        options.pageSegments = 1
        let segments = try Store.open(path: folder.database, options: options)
        let all = try await pages(segments, SubscriptionFilter("none"), 1...99)
        #expect(all.sequences.isEmpty && all.count > 3)
    }

    @Test func `segments without a matching name are skipped`() async throws {
        let names = (1...12).map { StoredMessage($0, $0 <= 4 ? "old" : "new") }
        let store = try await store(names)
        let before = store.readWork().rowsScanned
        let page = try await page(store, SubscriptionFilter("old"), 1...99)
        #expect(page.block.entries.map(\.sequence) == [4, 3, 2, 1] && page.scannedThrough == 1)
        #expect(store.readWork().rowsScanned - before == 4)
    }

    @Test func `a page of an empty range or log ends at the beginning of the range`() async throws {
        let empty = try await store([])
        #expect(try await page(empty, SubscriptionFilter(">"), 1...99).scannedThrough <= 1)
        #expect(try await page(empty, SubscriptionFilter(">"), 50...99).scannedThrough == 50)
    }
}
