import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Loses power while messages are stored and deleted.
@Suite(.timeLimit(.minutes(10)))
struct RetentionPowerLossTests {
    @Test(arguments: 0..<40)
    func `what was flushed is kept, or is in the loss of what a limit deleted`(round: Int) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
        FaultyDisk.keepUnflushedChanges(in: folder.path)
        var posted: [UInt64: StoredMessage] = [:]
        let flushedThrough = try await storeUntilPowerIsLost(folder, &posted, &generator)
        try FaultyDisk.losePower(in: folder.path, using: &generator)
        FaultyDisk.set(nil, in: folder.path)

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
        FaultyDisk.set(.death, in: folder.path, after: Int.random(in: 1...3000, using: &generator))
        var (sequence, flushedThrough): (UInt64, UInt64) = (0, 0)
        while true {
            let messages = (0..<Int.random(in: 1...12, using: &generator)).map { _ in
                sequence += 1
                let payload = [UInt8](
                    repeating: UInt8(truncatingIfNeeded: sequence), count: .random(in: 0...600, using: &generator))
                return StoredMessage(sequence, generator.chance(70) ? "limited" : "read", payload: payload)
            }
            for message in messages { posted[message.sequence] = message }
            let isSynced = generator.chance(20)
            guard await store.commit(messages, isSynced: isSynced).failure == nil else { return flushedThrough }
            if isSynced { flushedThrough = sequence }
            if generator.chance(30) { store.maintainToEnd() }
        }
    }
}
