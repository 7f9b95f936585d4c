import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

@Suite struct RetentionPaceTests {
    private var pace = RetentionPace()

    private mutating func pass(segments: Int, entries: Int, taking spent: Duration = .zero, at now: Duration = .zero) {
        pace.began()
        for _ in 0..<segments { pace.examined(entries: entries) }
        pace.worked(spent)
        pace.ended(at: now, interval: .seconds(1), deadline: nil)
    }

    @Test mutating func `an idle log needs no pass`() {
        #expect(pace.isDue(.zero), "the first pass")
        pass(segments: 10, entries: 10)
        #expect(!pace.isDue(.seconds(1_000_000)))
        pace.changed()
        #expect(pace.isDue(.seconds(1)))
        #expect(!pace.isDue(.milliseconds(999)))
    }

    @Test mutating func `a deadline makes a pass due`() {
        pace.began()
        pace.ended(at: .seconds(5), interval: .seconds(1), deadline: .seconds(50))
        #expect(!pace.isDue(.seconds(49)) && pace.isDue(.seconds(50)))
        pace.ended(at: .seconds(5), interval: .seconds(1), deadline: .seconds(5))
        #expect(!pace.isDue(.seconds(5)) && pace.isDue(.seconds(6)), "after the interval")
    }

    @Test mutating func `a pass takes a small part of the time`() {
        pass(segments: 10, entries: 10, taking: .seconds(2), at: .seconds(100))
        pace.changed()
        #expect(!pace.isDue(.seconds(163)) && pace.isDue(.seconds(164)))
    }

    @Test mutating func `a pass follows when the log has grown by a part of its segments and entries`() {
        pass(segments: 640, entries: 1)
        for _ in 0..<10 { pace.closed(messages: 4096) }
        #expect(!pace.isRequested)
        pace.closed(messages: 4096)
        #expect(pace.isRequested && pace.isDue(.zero))
        pass(segments: 640, entries: 4096)
        #expect(!pace.isRequested)
        for _ in 0..<160 { pace.closed(messages: 4096) }
        #expect(!pace.isRequested, "the pass examines 640 * 4096 entries")
        pace.closed(messages: 4096)
        #expect(pace.isRequested)
    }

    @Test mutating func `a failed pass is repeated after the interval`() {
        pace.began()
        pace.failed(at: .seconds(3), interval: .seconds(1))
        #expect(!pace.isDue(.seconds(3)) && pace.isDue(.seconds(4)))
    }

    @Test func `the store examines an idle log only when a message becomes too old`() async throws {
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        var options = StoreOptions()
        options.retentionInterval = .seconds(10)
        options.segmentMessages = 4
        options.clock = clock.storeClock
        options.retention.configuredRules = [RetentionRule(patterns: ["a"])]
        let store = try Store.open(path: folder.database, options: options)
        func isDue() -> Bool { store.queue.wait { store.current.log?.isSurveyDue ?? false } }
        await store.commit((1...9).map { StoredMessage($0, "a") })
        store.maintainToEnd()
        clock.advance(by: .seconds(59))
        #expect(!isDue())
        clock.advance(by: .seconds(1))
        #expect(isDue(), "the open segment is old")
        store.maintainToEnd()
        clock.advance(by: .seconds(86_339))
        #expect(!isDue())
        clock.advance(by: .seconds(1))
        #expect(isDue(), "the history of a day ends")
        store.maintainToEnd()
        #expect(try await store.everything(SubscriptionFilter("a")).map(\.sequence) == [9])

        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a")))])
        clock.advance(by: .seconds(10))
        #expect(isDue(), "a subscription was created")
        try store.close(nextSequence: 10)
    }
}
