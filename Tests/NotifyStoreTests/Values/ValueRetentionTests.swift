import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The retention, purges and a full log delete messages, but no values.
@Suite(.timeLimit(.minutes(25)))
struct ValueRetentionTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func options(_ change: (inout RetentionRule) -> Void) -> StoreOptions {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        options.segmentAge = .seconds(60)
        options.clock = clock.storeClock
        var rule = RetentionRule(patterns: [">"])
        change(&rule)
        options.retention.configuredRules += [rule]
        return options
    }

    private static let rules: [@Sendable (inout RetentionRule) -> Void] = [
        { $0.historyAge = .zero }, { $0.historyBytes = 0 }, { $0.maximumAge = .seconds(1) },
        { $0.maximumBytes = 1 }, { $0.maximumMessages = 1 },
    ]

    @Test(arguments: rules.indices)
    func `each rule of the retention deletes the messages of values, but no value or mark`(rule: Int) async throws {
        let options = options(Self.rules[rule])
        var store = try Store.open(path: folder.database, options: options)
        let cleared = ClearedHeader.encoded(.cleared)
        let messages = (1...8).map { StoredMessage($0, "a.\($0)", payload: [UInt8($0)]) }
        await store.set(messages, (1...8).map { Int64($0) })
        let mark = StoredMessage(9, "a.8", headers: cleared, payload: [])
        await store.set([mark], [-8])
        // Closes the segment of the values.
        await store.commit((10...13).map { StoredMessage($0, "b") })
        for _ in 0..<3 {
            clock.advance(by: .seconds(100))
            store.maintainToEnd()
        }
        #expect(try store.allSequences().isDisjoint(with: 1...8))
        for round in 0..<2 {
            #expect(try await store.values().block.messages == Array(messages[..<7]), "round \(round)")
            #expect(try await store.values(.bySequence).block.messages == Array(messages[..<7]) + [mark])
            #expect(store.recovered.problem == nil)
            try store.close(nextSequence: 20)
            #expect(try FileCheck.run(path: folder.database).findings.isSound)
            store = try Store.open(path: folder.database, options: options)
        }
        #expect(store.recovered.values.values.count == 8)
        try store.close(nextSequence: 20)
    }

    @Test func `a full log refuses a batch with a value, and keeps the present value`() async throws {
        var options = StoreOptions()
        options.retention.maximumBytes = 200 * 1024
        options.retention.maximumBacklog = .unlimited
        let store = try Store.open(path: folder.database, options: options)
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter(">"))
        #expect(await store.commit([], changes: [.create(record)]).failure == nil)
        let payload = [UInt8](repeating: 1, count: 2000)
        var last: UInt64 = 0
        var failure: StorageFailure?
        while failure == nil, last < 1000 {
            last += 1
            failure = await store.set([StoredMessage(last, "a", payload: payload)], [1]).failure
        }
        #expect(failure?.kind == .full && last < 100)
        #expect(try await store.values().block.messages == [StoredMessage(last - 1, "a", payload: payload)])

        // Without a subscription, the messages are history, which is deleted for new ones.
        #expect(await store.commit([], changes: [.remove(id: 1)]).failure == nil)
        #expect(await store.set([StoredMessage(last + 1, "b")], [2]).failure == nil)
        let values = try await store.values().block.messages
        #expect(values == [StoredMessage(last - 1, "a", payload: payload), StoredMessage(last + 1, "b")])
        try store.close(nextSequence: last + 2)
    }
}
