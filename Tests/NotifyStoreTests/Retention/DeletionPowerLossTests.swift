import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Loses power while messages are deleted. A deletion and its record for readers are lost together, or neither is lost.
@Suite(.timeLimit(.minutes(25)))
struct DeletionPowerLossTests {
    private let seed = UInt64.random(in: 0 ... .max)

    private static var options: StoreOptions {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 8
        options.checkpointBytes = 64 << 10
        return options
    }

    @Test(arguments: 0..<40) func `readers learn of every deletion that is in the log`(round: Int) async throws {
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder.thatLosesPower()
        let (posted, mark) = try await deleteUntilPowerIsLost(folder, &generator)
        try folder.losePower(using: &generator)

        let store = try Store.open(path: folder.database, options: Self.options)
        #expect(store.recovered.failure == nil && store.recovered.problem == nil, "seed \(seed)")
        let kept = try await store.everything(SubscriptionFilter(">"))
        let last = kept.last?.sequence ?? 0
        for (name, pattern) in [("a", "a"), ("b", "b")] as [(String, NamePattern)] {
            let sequences = Set(kept.lazy.filter { $0.name == name }.map(\.sequence))
            let deleted = posted.filter { $0.name == name && $0.sequence < last && !sequences.contains($0.sequence) }
            let missed = try await store.missed(pattern, after: 0, since: mark)
            #expect(deleted.allSatisfy { missed?.contains($0.sequence) == true }, "seed \(seed)")
            #expect(UInt64(deleted.count) <= missed?.count ?? 0, "seed \(seed)")
            let most = posted.count { $0.name == name } - sequences.count
            #expect(missed?.count ?? 0 <= most && missed?.isUpperBound != true, "seed \(seed)")
        }
        #expect(try await store.missed("kept", after: 0, since: mark) == nil, "seed \(seed)")
        try store.close(nextSequence: 100_000)
        #expect(try FileCheck.run(path: folder.database).findings.isSound, "seed \(seed)")
    }

    private func deleteUntilPowerIsLost(
        _ folder: TemporaryFolder, _ generator: inout SeededGenerator
    ) async throws -> (posted: [StoredMessage], mark: UInt64) {
        let store = try Store.open(path: folder.database, options: Self.options)
        await store.commit([], reserveBelow: 90_000, isSynced: true)
        let mark = try await store.deletionMark()
        folder.diesSoon(within: 1500, using: &generator)
        var posted: [StoredMessage] = []
        while true {
            let first = UInt64(posted.count) + 1
            let messages = (first...first + UInt64.random(in: 0..<12, using: &generator)).map { sequence in
                StoredMessage(sequence, ["a", "b", "kept"].randomElement(using: &generator) ?? "a")
            }
            posted += messages
            let outcome = await store.commit(messages, isSynced: generator.chance(20))
            guard outcome.failure == nil else { return (posted, mark) }
            guard generator.chance(15) else { continue }
            let pattern: NamePattern = generator.chance(50) ? "a" : "b"
            let before = UInt64.random(in: 1...UInt64(posted.count) + 1, using: &generator)
            guard (try? await store.purge(pattern, before: before)) != nil else { return (posted, mark) }
        }
    }
}

extension Loss {
    fileprivate func contains(_ sequence: UInt64) -> Bool { first <= sequence && sequence <= last }
}
