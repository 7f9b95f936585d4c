import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Loses power while messages are stored and deleted.
@Suite(.timeLimit(.minutes(25)))
struct RetentionPowerLossTests {
    private let seed = UInt64.random(in: 0 ... .max)

    // MARK: Rules

    @Test(arguments: 0..<40)
    func `a flushed message is kept, or is counted as lost if a limit deleted it`(round: Int) async throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder.thatLosesPower()
        var posted: [UInt64: StoredMessage] = [:]
        let flushedThrough = try await storeUntilPowerIsLost(folder, &posted, &generator)
        try folder.losePower(using: &generator)

        let store = try Store.open(path: folder.database, options: Self.options)
        #expect(store.recovered.failure == nil, "seed \(seed)")
        let kept = try await store.everything(SubscriptionFilter(">"))
        for message in kept { #expect(posted[message.sequence] == message, "seed \(seed)") }
        let keptSequences = Set(kept.map(\.sequence))
        let missing = posted.values.filter { message in
            message.name == "limited" && message.sequence <= flushedThrough && !keptSequences.contains(message.sequence)
        }
        let loss = try #require(store.recovered.subscriptions.first).loss
        let lost = loss.map { $0.first..<$0.last + 1 } ?? 0..<0
        #expect(missing.allSatisfy { lost.contains($0.sequence) }, "seed \(seed)")
        #expect(UInt64(missing.count) <= loss?.count ?? 0, "seed \(seed)")
        #expect(store.recovered.nextSequence > flushedThrough)
        try store.close(nextSequence: 100_000)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
    }

    /// Few messages in a segment, and a checkpoint after a few batches.
    private static var options: StoreOptions {
        get throws {
            var limited = RetentionRule(patterns: ["limited"])
            limited.maximumMessages = 60
            var read = RetentionRule(patterns: ["read"])
            read.historyAge = .zero
            var options = StoreOptions.withoutTimer
            options.segmentMessages = 8
            options.checkpointBytes = 64 << 10
            options.retention.configuredRules += [limited, read]
            return options
        }
    }

    /// Stores messages under a rule's limit for a subscription that reads nothing, until the power is lost.
    ///
    /// - Returns: The last sequence that was flushed.
    private func storeUntilPowerIsLost(
        _ folder: TemporaryFolder, _ posted: inout [UInt64: StoredMessage], _ generator: inout SeededGenerator
    ) async throws -> UInt64 {
        let store = try Store.open(path: folder.database, options: Self.options)
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("limited"))
        await store.commit([], changes: [.create(record)], reserveBelow: 90_000, isSynced: true)
        folder.diesSoon(within: 3000, using: &generator)
        var (sequence, flushedThrough): (UInt64, UInt64) = (0, 0)
        while true {
            let messages = nextMessages(after: &sequence, &generator) { $0.chance(70) ? "limited" : "read" }
            for message in messages { posted[message.sequence] = message }
            let isSynced = generator.chance(20)
            guard await store.commit(messages, isSynced: isSynced).failure == nil else { return flushedThrough }
            if isSynced { flushedThrough = sequence }
            if generator.chance(30) { store.maintainToEnd() }
        }
    }
    private func nextMessages(
        after sequence: inout UInt64, _ generator: inout SeededGenerator, name: (inout SeededGenerator) -> String
    ) -> [StoredMessage] {
        (0..<Int.random(in: 1...12, using: &generator)).map { _ in
            sequence += 1
            let payload = [UInt8](
                repeating: UInt8(truncatingIfNeeded: sequence), count: .random(in: 0...600, using: &generator))
            return StoredMessage(sequence, name(&generator), payload: payload)
        }
    }

    // MARK: Purges

    /// The operations before the loss of power.
    private struct History {
        var posted: [UInt64: StoredMessage] = [:]
        var last: UInt64 = 0
        var flushedThrough: UInt64 = 0
        /// The messages that purges selected.
        var selected: Set<UInt64> = []
        /// The selected messages whose deletion was flushed.
        var deleted: Set<UInt64> = []
    }

    @Test(arguments: 0..<30)
    func `a message that no purge selected is kept, and the losses include the purged messages`(
        round: Int
    ) async throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder.thatLosesPower()
        let history = try await purgeUntilPowerIsLost(folder, &generator)
        try folder.losePower(using: &generator)

        let store = try Store.open(path: folder.database, options: Self.options)
        #expect(store.recovered.failure == nil, "seed \(seed)")
        let kept = try await store.everything(SubscriptionFilter(">"))
        for message in kept { #expect(history.posted[message.sequence] == message, "seed \(seed)") }
        #expect(store.recovered.usage == kept.usage, "seed \(seed)")
        let keptSequences = Set(kept.map(\.sequence))
        #expect(keptSequences.isDisjoint(with: history.deleted), "seed \(seed)")
        let missing = (1..<history.flushedThrough + 1).filter { !keptSequences.contains($0) }
        #expect(history.selected.isSuperset(of: missing), "seed \(seed)")
        for record in store.recovered.subscriptions {
            let lost = missing.filter { sequence in
                history.posted[sequence]?.name.withUTF8Bytes { record.filter.matches(name: $0) } ?? false
            }
            let range = record.loss.map { $0.first..<$0.last + 1 } ?? 0..<0
            #expect(lost.allSatisfy { range.contains($0) }, "seed \(seed)")
            #expect(UInt64(lost.count) <= record.loss?.count ?? 0, "seed \(seed)")
            if record.name == "kept" { #expect(record.loss == nil, "seed \(seed)") }
        }
        try store.close(nextSequence: 100_000)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
    }

    private func purgeUntilPowerIsLost(
        _ folder: TemporaryFolder, _ generator: inout SeededGenerator
    ) async throws -> History {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 8
        options.checkpointBytes = 64 << 10
        let store = try Store.open(path: folder.database, options: options)
        let records = try [
            DurableRecord(id: 1, name: "one", SubscriptionFilter("a")),
            DurableRecord(id: 2, name: "all", SubscriptionFilter(">")),
            DurableRecord(id: 3, name: "kept", SubscriptionFilter("kept")),
        ]
        await store.commit([], changes: records.map { .create($0) }, reserveBelow: 90_000, isSynced: true)
        folder.diesSoon(within: 1500, using: &generator)
        var history = History()
        var deleted: Set<UInt64> = []
        while true {
            let messages = nextMessages(after: &history.last, &generator) {
                ["a", "b", "kept"].randomElement(using: &$0) ?? "a"
            }
            for message in messages { history.posted[message.sequence] = message }
            let isSynced = generator.chance(20)
            guard await store.commit(messages, isSynced: isSynced).failure == nil else { return history }
            if isSynced {
                history.flushedThrough = history.last
                history.deleted = deleted
            }
            guard generator.chance(15) else { continue }
            let name = generator.chance(50) ? "a" : "b"
            let before = UInt64.random(in: 1...history.last + 1, using: &generator)
            let selected = history.posted.values.filter { $0.name == name && $0.sequence < before }.map(\.sequence)
            history.selected.formUnion(selected)
            let request = PurgeRequest(filter: try SubscriptionFilter(name), before: before)
            let result = await completion { store.purge(request, completion: $0) }
            guard case .success = result else { return history }
            deleted.formUnion(selected)
        }
    }

    // MARK: Backlogs

    @Test func `a cursor that retention has moved is stored together with the recorded loss`() async throws {
        var generator = SeededGenerator(seed: seed)
        var releases = 0
        for _ in 0..<30 {
            let folder = try TemporaryFolder.thatLosesPower()
            let history = try await releaseUntilPowerIsLost(folder, &generator)
            try folder.losePower(using: &generator)

            let store = try Store.open(path: folder.database, options: Self.options)
            #expect(store.recovered.failure == nil, "seed \(seed)")
            let kept = try await store.everything(SubscriptionFilter(">"))
            // Released messages stay as history.
            #expect(kept.map(\.sequence) == Array(1..<UInt64(kept.count + 1)), "seed \(seed)")
            #expect(kept.allSatisfy { history.posted[$0.sequence] == $0 }, "seed \(seed)")
            #expect(kept.count >= Int(history.flushedThrough), "seed \(seed)")
            let record = try #require(store.recovered.subscriptions.first)
            let released = kept.filter { $0.name == "slow" && $0.sequence <= record.progress.cursor }.map(\.sequence)
            let loss = released.first.map { first in
                Loss(
                    first: first, last: released[released.count - 1], count: UInt64(released.count),
                    isUpperBound: false)
            }
            #expect(record.loss == loss, "seed \(seed)")
            #expect(record.progress.cursor == 0 || loss != nil, "seed \(seed)")
            releases += loss == nil ? 0 : 1
            try store.close(nextSequence: 100_000)
            #expect(try folder.rows("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        }
        #expect(releases > 5, "the limit had an effect")
    }

    /// Stores messages for a subscription that reads nothing and may hold back little, until the power is lost.
    private func releaseUntilPowerIsLost(
        _ folder: TemporaryFolder, _ generator: inout SeededGenerator
    ) async throws -> History {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 8
        options.checkpointBytes = 64 << 10
        options.retention.maximumBacklog = .bytes(10_000)
        let store = try Store.open(path: folder.database, options: options)
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("slow"))
        await store.commit([], changes: [.create(record)], reserveBelow: 90_000, isSynced: true)
        folder.diesSoon(within: 1500, using: &generator)
        var history = History()
        while true {
            let messages = nextMessages(after: &history.last, &generator) { $0.chance(70) ? "slow" : "other" }
            for message in messages { history.posted[message.sequence] = message }
            let isSynced = generator.chance(20)
            guard await store.commit(messages, isSynced: isSynced).failure == nil else { return history }
            if isSynced { history.flushedThrough = history.last }
            if generator.chance(30) { store.maintainToEnd() }
        }
    }
}
