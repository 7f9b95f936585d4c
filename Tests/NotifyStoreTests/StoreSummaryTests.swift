import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// The summary of the log: the number and bytes of the stored messages of each name.
@Suite(.timeLimit(.minutes(25)))
struct StoreSummaryTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func store(_ messages: [StoredMessage]) async throws -> Store {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        let store = try Store.open(path: folder.database, options: options)
        for message in messages { #expect(await store.commit([message]).failure == nil) }
        return store
    }

    private func summary(
        _ store: Store, _ pattern: String = ">", _ range: ClosedRange<UInt64> = 1...(.max), names: Int = 100,
        access: ReadAccess = .of(uid: 0)
    ) async throws -> LogSummary {
        try await summary(store, SubscriptionFilter(pattern), range, names: names, access: access)
    }

    private func summary(
        _ store: Store, _ filter: SubscriptionFilter, _ range: ClosedRange<UInt64>, names: Int = 100,
        access: ReadAccess
    ) async throws -> LogSummary {
        let request = SummaryRequest(
            filter: filter, access: access, first: range.lowerBound, last: range.upperBound,
            maximumNames: names)
        return try await completion { store.summarize(request, completion: $0) }.get()
    }

    @Test func `a damaged log is neither summed up nor purged`() async throws {
        var store = try await store([StoredMessage(1)])
        try store.close(nextSequence: 2)
        try folder.execute("DELETE FROM state")
        store = try Store.open(path: folder.database)
        let failure = try #require(store.recovered.failure)
        await #expect(throws: failure) { _ = try await summary(store) }
        let purge = PurgeRequest(filter: try SubscriptionFilter(">"), before: 2)
        let purged = await completion { store.purge(purge, completion: $0) }
        #expect(throws: failure) { _ = try purged.get() }
        try store.close(nextSequence: store.recovered.nextSequence)
    }

    private func expected(_ messages: [StoredMessage]) -> [LogSummary.Name] {
        Dictionary(grouping: messages, by: \.name).map { name, messages in
            LogSummary.Name(name: Array(name.utf8), totals: totals(messages))
        }.sorted { $0.totals.bytes > $1.totals.bytes }
    }

    private func totals(_ messages: [StoredMessage]) -> LogSummary.Totals {
        var totals = LogSummary.Totals()
        totals.messages = UInt64(messages.count)
        totals.bytes = UInt64(messages.usage.values.reduce(0) { $0 + $1.bytes })
        (totals.first, totals.firstTime) = (messages[0].sequence, messages[0].stamp[0])
        (totals.last, totals.lastTime) = (messages[messages.count - 1].sequence, messages[messages.count - 1].stamp[0])
        return totals
    }

    /// Messages with increasing times, of names with different numbers of bytes.
    private var messages: [StoredMessage] {
        (1...19).map { number in
            let name = number == 7 ? "once" : number.isMultiple(of: 3) ? "third" : "often"
            var message = StoredMessage(
                UInt64(number) * 2, name, object: number == 5 ? "o" : "",
                payload: [UInt8](repeating: 0, count: name == "third" ? 1000 : 3))
            message.stamp[0] += UInt64(number)
            message.stamp[1] = number.isMultiple(of: 2) ? 1000 : 2000
            return message
        }
    }

    @Test func `a summary of any range of the log has the totals of each name`() async throws {
        let messages = messages
        let store = try await store(messages)
        for first in UInt64(1)...39 {
            for last in first...39 {
                let part = messages.filter { (first...last).contains($0.sequence) }
                let found = try await summary(store, ">", first...last)
                #expect(found.names == expected(part), "\(first) to \(last)")
            }
        }
        #expect(try await summary(store).names == expected(messages))
        #expect(try await summary(store, "third").names == expected(messages.filter { $0.name == "third" }))
        #expect(try await summary(store, "none").names.isEmpty)
    }

    @Test func `names beyond the limit are summed up`() async throws {
        let messages = messages
        let store = try await store(messages)
        let found = try await summary(store, names: 1)
        #expect(found.names == expected(messages.filter { $0.name == "third" }))
        #expect(found.others == totals(messages.filter { $0.name != "third" }))
        #expect(try await summary(store, names: 3).others == nil)
    }

    @Test func `names that may not be read are left out`() async throws {
        let store = try await store([StoredMessage(1, "user.1000.x"), StoredMessage(2, "open")])
        let found = try await summary(store, access: .of(uid: 2000))
        #expect(found.names.map(\.name) == [Array("open".utf8)] && found.others == nil)
    }

    @Test func `dead letters count only if their original messages may be read, in every range`() async throws {
        var messages = messages
        var isReadable: [UInt64: Bool] = [:]
        for index in messages.indices where messages[index].name == "third" || index.isMultiple(of: 5) {
            let (sequence, stamp, isOpen) = (messages[index].sequence, messages[index].stamp, index.isMultiple(of: 2))
            messages[index] = .deadLetter(
                sequence, of: StoredMessage(1, isOpen ? "open" : "user.1000.x"), uid: index < 4 ? 3000 : 2000)
            messages[index].stamp = stamp
            isReadable[sequence] = isOpen && index >= 4
        }
        let store = try await store(messages)
        let filter = try SubscriptionFilter(">", "notifyd.>")
        for first in UInt64(1)...39 {
            for last in first...39 {
                let part = messages.filter {
                    (first...last).contains($0.sequence) && isReadable[$0.sequence] ?? true
                }
                let found = try await summary(store, filter, first...last, access: .of(uid: 2000))
                #expect(found.names == expected(part), "\(first) to \(last)")
            }
        }
        #expect(try await summary(store, filter, 1...39, access: .of(uid: 0)).names == expected(messages))
    }

    @Test func `an empty log has no names`() async throws {
        let store = try await store([])
        #expect(try await summary(store) == LogSummary())
    }

    @Test func `the totals of names with many segments are complete`() async throws {
        let early = (1...4000).map { StoredMessage($0, "a", payload: []) }
        let late = (4001...4100).map { StoredMessage($0, "b", payload: []) }
        let store = try await store(early)
        #expect(await store.commit(late).failure == nil)
        #expect(try await summary(store).names == expected(early + late))
    }
}
