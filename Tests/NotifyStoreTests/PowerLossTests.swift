import Foundation
import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Loses power while durable subscriptions are reset and edited, and while backups are made.
@Suite(.timeLimit(.minutes(25)))
struct PowerLossTests {
    /// The contents of the log after a commit.
    private struct Snapshot: Equatable {
        var subscriptions: [DurableRecord]
        /// The last sequence. The log also has all earlier messages.
        var last: UInt64 = 0
    }

    private let seed = UInt64.random(in: 0 ... .max)

    // MARK: Subscriptions

    @Test(arguments: 0..<40)
    func `after a power loss, a reset or an edit is complete if it was reported, and never partial`(
        round: Int
    ) async throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder.thatLosesPower()
        let possible = try await changeUntilPowerIsLost(folder, &generator)
        try folder.losePower(using: &generator)

        let store = try Store.open(path: folder.database)
        #expect(store.recovered.failure == nil, "seed \(seed)")
        let messages = try await store.everything(SubscriptionFilter(">"))
        #expect(messages.map(\.sequence) == Array(1..<UInt64(messages.count + 1)), "seed \(seed)")
        let found = Snapshot(
            subscriptions: store.recovered.subscriptions.sorted { $0.id < $1.id }, last: UInt64(messages.count))
        #expect(possible.contains(found), "seed \(seed)")
        try store.close(nextSequence: 100_000)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
    }

    /// Commits messages, acknowledgements, resets and edits until the power is lost.
    ///
    /// - Returns: The possible contents after the loss: those of the last flush, and those of each later commit.
    private func changeUntilPowerIsLost(
        _ folder: TemporaryFolder, _ generator: inout SeededGenerator
    ) async throws -> [Snapshot] {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 8
        options.checkpointBytes = 64 << 10
        let store = try Store.open(path: folder.database, options: options)
        var state = Snapshot(
            subscriptions: try (1...3 as ClosedRange<UInt32>).map { id in
                var record = try DurableRecord(id: DurableID(id), name: "s\(id)", SubscriptionFilter("a"))
                record.loss = Loss(first: 1, last: 5, count: 2, isUpperBound: false)
                return record
            })
        await store.commit(
            [], changes: state.subscriptions.map { .create($0) }, reserveBelow: 90_000, isSynced: true)
        folder.diesSoon(within: 1000, using: &generator)
        var possible = [state]
        while true {
            let messages = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                state.last += 1
                return StoredMessage(state.last, ["a", "b", "c"].randomElement(using: &generator) ?? "a")
            }
            let index = state.subscriptions.indices.randomElement(using: &generator) ?? 0
            let isChange = generator.chance(50)
            if isChange {
                change(&state.subscriptions[index], state.last, &generator)
            } else {
                acknowledge(&state.subscriptions[index], state.last, &generator)
            }
            let record = state.subscriptions[index]
            let failure = await store.commit(
                messages, changes: isChange ? [.replace(record)] : [.update(id: record.id, record.progress)],
                isSynced: isChange
            ).failure
            guard failure == nil else { return possible + [state] }
            possible = isChange ? [state] : possible + [state]
        }
    }

    private func change(_ record: inout DurableRecord, _ last: UInt64, _ generator: inout SeededGenerator) {
        if generator.chance(50) {
            record.startedAfter = .random(in: 0...last, using: &generator)
            record.progress = DurableProgress(
                cursor: record.startedAfter, seenThrough: record.startedAfter,
                generation: record.progress.generation + 1)
            // A new generation has no loss.
            record.loss = nil
        } else {
            let patterns = (["a", "b", "c", "b.>", "*.x"] as [NamePattern]).shuffled(using: &generator).prefix(3)
            record.filter = SubscriptionFilter(
                patterns: NamePattern.sortedUniquely(Array(patterns)), object: generator.chance(50) ? "o" : nil)
        }
    }

    private func acknowledge(_ record: inout DurableRecord, _ last: UInt64, _ generator: inout SeededGenerator) {
        record.progress.cursor = .random(
            in: record.progress.cursor...max(record.progress.cursor, last), using: &generator)
        record.progress.seenThrough = max(record.progress.seenThrough, record.progress.cursor + 10)
        let first = record.progress.cursor + 3
        record.progress.acknowledged = generator.chance(50) ? [SequenceRange(first: first, last: first + 4)] : []
    }

    // MARK: Backups

    @Test func `after a power loss during a backup, the log is sound, and its start removes the backup`() async throws {
        var generator = SeededGenerator(seed: seed)
        var leftovers = 0
        for _ in 0..<25 {
            let folder = try TemporaryFolder.thatLosesPower()
            let flushedThrough = try await backUpUntilPowerIsLost(folder, &generator)
            try folder.losePower(using: &generator)
            leftovers += try backups(in: folder).isEmpty ? 0 : 1

            let store = try Store.open(path: folder.database)
            #expect(try backups(in: folder).isEmpty, "seed \(seed)")
            #expect(store.recovered.failure == nil, "seed \(seed)")
            let messages = try await store.everything(SubscriptionFilter(">"))
            #expect(messages == (1..<UInt64(messages.count + 1)).map { .backedUp($0) }, "seed \(seed)")
            #expect(messages.count >= Int(flushedThrough), "seed \(seed)")
            try store.close(nextSequence: 1 << 24)
            #expect(try folder.rows("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        }
        #expect(leftovers > 0, "some loss left a part of a backup")
    }

    /// Stores messages while backups are made, until the power is lost.
    ///
    /// - Returns: The last sequence that was flushed.
    private func backUpUntilPowerIsLost(
        _ folder: TemporaryFolder, _ generator: inout SeededGenerator
    ) async throws -> UInt64 {
        var options = StoreOptions.withoutTimer
        options.checkpointBytes = 256 << 10
        let store = try Store.open(path: folder.database, options: options)
        await store.store(1...200)
        folder.diesSoon(within: 600, using: &generator)
        var (last, flushedThrough): (UInt64, UInt64) = (200, 200)
        while true {
            if generator.chance(30) { store.beginBackup(target: .none) { _ in } }
            let count = UInt64.random(in: 1...10, using: &generator)
            let isSynced = generator.chance(20)
            let messages = (last + 1...last + count).map { StoredMessage.backedUp($0) }
            guard await store.commit(messages, isSynced: isSynced).failure == nil else { return flushedThrough }
            last += count
            if isSynced { flushedThrough = last }
        }
    }

    private func backups(in folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".backup") }
    }
}
