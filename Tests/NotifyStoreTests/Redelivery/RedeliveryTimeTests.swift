import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// The time until a message is delivered again follows the log's time.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryTimeTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open() throws -> Store {
        var options = StoreOptions.withoutTimer
        options.clock = clock.storeClock
        return try Store.open(path: folder.database, options: options)
    }

    /// Stores copies that wait for 4 s and for an hour, opens the log again, and returns the remaining delays in
    /// seconds.
    private func delays(storing change: () -> Void = {}, afterStoring wait: () -> Void) async throws -> [UInt64]? {
        var store = try open()
        change()
        let copies = ([4, 3_600] as [UInt64]).enumerated().map { index, seconds in
            DurableChange.keep(
                id: 1,
                Redelivery(sequence: UInt64(index) + 1, failures: 1, delayMicroseconds: seconds * 1_000_000, bytes: 0),
                reason: "")
        }
        try await store.commit(
            [StoredMessage(1, "a"), StoredMessage(2, "a")],
            changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a")))] + copies)
        try store.close(nextSequence: 3)
        wait()
        store = try open()
        let found = store.recovered.redeliveries[1]?.map { $0.delayMicroseconds / 1_000_000 }
        try store.close(nextSequence: 3)
        return found
    }

    @Test func `the rest of a delay is recovered`() async throws {
        #expect(try await delays { clock.advance(by: .seconds(3)) } == [1, 3_597])
    }

    @Test func `correcting a clock that was a day ahead changes no delay`() async throws {
        let day = Duration.seconds(86_400)
        let found = try await delays {
            clock.setWall(aheadBy: day)
        } afterStoring: {
            clock.setWall(aheadBy: .zero - day)
            clock.advance(by: .seconds(1))
        }
        #expect(found == [3, 3_599])
    }

    @Test func `setting the clock ahead makes no message due`() async throws {
        #expect(try await delays { clock.setWall(aheadBy: .seconds(1_000_000)) } == [4, 3_600])
    }

    @Test func `the time of a reboot counts towards a delay`() async throws {
        #expect(try await delays { clock.reboot(taking: .seconds(600)) } == [0, 3_000])
    }

    @Test func `a clock that goes back in a reboot makes no delay longer`() async throws {
        let found = try await delays {
            clock.reboot(taking: .seconds(60))
            clock.setWall(aheadBy: .seconds(-86_400))
        }
        #expect(found == [4, 3_600])
    }

    @Test func `a repaired log keeps the delays`() async throws {
        var options = StoreOptions.withoutTimer
        options.clock = .system
        var store = try Store.open(path: folder.database, options: options)
        let copy = Redelivery(sequence: 1, failures: 1, delayMicroseconds: 3_600_000_000, bytes: 0)
        try await store.commit(
            [StoredMessage(1, "a")],
            changes: [
                .create(DurableRecord(id: 1, name: "one", SubscriptionFilter("a"), cursor: 1)),
                .keep(id: 1, copy, reason: ""),
            ])
        try store.close(nextSequence: 2)
        _ = try FileRepair.run(path: folder.database, to: folder.file("repaired"))
        store = try Store.open(path: folder.file("repaired"), options: options)
        let left = try #require(store.recovered.redeliveries[1]?.first?.delayMicroseconds)
        #expect(left <= 3_600_000_000 && left > 3_000_000_000)
        try store.close(nextSequence: 2)
    }
}
