import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Finding the first message at or after a time.
@Suite(.timeLimit(.minutes(25)))
struct StoreFindingTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func store(_ messages: [(sequence: UInt64, time: UInt64)]) async throws -> Store {
        let store = try Store.open(path: folder.database)
        let stored = messages.map { message in
            var stored = StoredMessage(message.sequence, payload: [])
            stored.stamp[0] = message.time
            return stored
        }
        #expect(await store.commit(stored).failure == nil)
        return store
    }

    @Test func `a search in an empty log finds the first sequence`() async throws {
        let store = try await store([])
        for time: UInt64 in [0, 1, UInt64(Int64.max)] { #expect(try await store.findSequence(time) == 1) }
        try store.close(nextSequence: 1)
    }

    @Test(arguments: [1, 2, 3, 64, 5000])
    func `the first message at or after a time is found`(count: Int) async throws {
        var generator = SeededGenerator(seed: UInt64(count))
        var messages: [(sequence: UInt64, time: UInt64)] = []
        var (sequence, time): (UInt64, UInt64) = (0, 1_700_000_000_000_000)
        for _ in 0..<count {
            // Some sequences are not stored, and after a crash a large range is skipped.
            sequence += generator.chance(1) ? 1 << 32 : .random(in: 1...3, using: &generator)
            time += .random(in: 0...2, using: &generator) * 10
            messages.append((sequence, time))
        }
        let store = try await store(messages)
        let times = count < 100 ? messages : (0..<100).map { _ in messages[.random(in: 0..<count, using: &generator)] }
        for wanted in Set(times.flatMap { [$0.time - 1, $0.time, $0.time + 1] }) {
            let expected = messages.first { $0.time >= wanted }?.sequence ?? sequence + 1
            #expect(try await store.findSequence(wanted) == expected, "at \(wanted)")
        }
        #expect(try await store.findSequence(0) == messages[0].sequence)
        #expect(try await store.findSequence(UInt64(Int64.max)) == sequence + 1)
        try store.close(nextSequence: sequence + 1)
    }

    @Test func `after the clock was set back, the message before the result is earlier than the time`() async throws {
        // The clock is set back by 50 after sequence 100.
        let messages = (1...200).map { (sequence: UInt64($0), time: UInt64($0 <= 100 ? $0 : $0 - 50)) }
        let store = try await store(messages)
        for wanted: UInt64 in 1...160 {
            let found = Int(try await store.findSequence(wanted))
            #expect(found == 201 || messages[found - 1].time >= wanted, "at \(wanted)")
            #expect(found == 1 || messages[found - 2].time < wanted, "at \(wanted)")
        }
        try store.close(nextSequence: 201)
    }

    @Test func `a search sees the commits requested before it`() async throws {
        let store = try await store([(1, 10)])
        var later = StoredMessage(2)
        later.stamp[0] = 20
        let batch = CommitBatch(
            id: 2, blocks: [LogBlock([later])], changes: [], reserveBelow: nil, isSynced: false)
        let found: Result<UInt64, StorageFailure> = await completion { done in
            store.commit(batch) { _ in }
            store.findSequence(atOrAfter: 15, completion: done)
        }
        #expect(found == .success(2))
        try store.close(nextSequence: 3)
    }
}

extension Store {
    fileprivate func findSequence(_ microseconds: UInt64) async throws -> UInt64 {
        try await completion { findSequence(atOrAfter: microseconds, completion: $0) }.get()
    }
}
