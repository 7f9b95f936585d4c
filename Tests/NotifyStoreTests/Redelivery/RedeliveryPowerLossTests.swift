import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Loses power while copies of messages are kept, changed and forgotten, and while dead letters are deleted.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryPowerLossTests {
    /// The contents of the log after a commit.
    private struct Snapshot: Equatable {
        var record: DurableRecord
        var messages: [UInt64] = []
        var copies: [Redelivery] = []
        var reasons: [String] = []

        mutating func keep(_ copy: Redelivery, _ reason: String) {
            forget([copy.sequence])
            let index = copies.firstIndex { $0.sequence > copy.sequence } ?? copies.endIndex
            copies.insert(copy, at: index)
            reasons.insert(reason, at: index)
        }

        mutating func forget(_ sequences: [UInt64]) {
            for sequence in sequences {
                guard let index = copies.firstIndex(where: { $0.sequence == sequence }) else { continue }
                copies.remove(at: index)
                reasons.remove(at: index)
            }
        }
    }

    private let seed = UInt64.random(in: 0 ... .max)

    private func message(_ sequence: UInt64) -> StoredMessage {
        StoredMessage(sequence, "a", payload: Array(repeating: UInt8(truncatingIfNeeded: sequence), count: 300))
    }

    /// Each batch moves the cursor, changes copies or deletes messages in one step.
    @Test(arguments: 0..<40)
    func `after a power loss, a batch that changes copies is complete or absent`(round: UInt64) async throws {
        var generator = SeededGenerator(seed: seed &+ round)
        let comment: Comment = "seed \(seed), round \(round)"
        let folder = try TemporaryFolder.thatLosesPower()
        let possible = try await changeUntilPowerIsLost(folder, &generator)
        try folder.losePower(using: &generator)

        let store = try Store.open(path: folder.database, options: StoreOptions().withStoppedClock)
        #expect(store.recovered.failure == nil && store.recovered.problem == nil, comment)
        let stored = try await store.everything(SubscriptionFilter(">"))
        let copies = store.recovered.redeliveries[1] ?? []
        let content = try await store.copies(copies.map(\.sequence))
        let found = Snapshot(
            record: try #require(store.recovered.subscriptions.first), messages: stored.map(\.sequence),
            copies: copies, reasons: content.reasons)
        #expect(possible.contains(found), comment)
        #expect(content.block.messages == copies.map { message($0.sequence) }, comment)
        #expect(stored == stored.map { message($0.sequence) }, comment)
        try store.close(nextSequence: 100_000)
        #expect(try FileCheck.run(path: folder.database).findings.isSound, comment)
    }

    /// Commits batches until the power is lost.
    ///
    /// - Returns: The possible contents after the loss: those of the last flush, and those of each later commit.
    private func changeUntilPowerIsLost(
        _ folder: TemporaryFolder, _ generator: inout SeededGenerator
    ) async throws -> [Snapshot] {
        var options = StoreOptions.withoutTimer.withStoppedClock
        options.segmentMessages = 8
        options.checkpointBytes = 64 << 10
        let store = try Store.open(path: folder.database, options: options)
        var state = Snapshot(record: try DurableRecord(id: 1, name: "one", SubscriptionFilter("a")))
        await store.commit([], changes: [.create(state.record)], reserveBelow: 90_000, isSynced: true)
        folder.diesSoon(within: 1000, using: &generator)
        var possible = [state]
        var last: UInt64 = 0
        while true {
            let count = UInt64.random(in: 0...4, using: &generator)
            let messages = (last..<last + count).map { message($0 + 1) }
            last += count
            state.messages += messages.map(\.sequence)
            let changes = change(&state, last, &generator)
            let isSynced = generator.chance(20)
            let failure = await store.commit(messages, changes: changes, isSynced: isSynced).failure
            guard failure == nil else { return possible + [state] }
            possible = isSynced ? [state] : possible + [state]
        }
    }

    private func change(
        _ state: inout Snapshot, _ last: UInt64, _ generator: inout SeededGenerator
    ) -> [DurableChange] {
        let copy = state.copies.randomElement(using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            guard let copy else { return [] }
            return [keep(copy.sequence, in: &state, &generator)]
        case 1:
            let forgotten = state.copies.map(\.sequence).filter { _ in generator.chance(50) }
            state.forget(forgotten)
            return [.forget(id: 1, sequences: forgotten)]
        case 2:
            let deleted = state.messages.filter { $0 <= state.record.progress.cursor && generator.chance(30) }
            state.messages.removeAll { deleted.contains($0) }
            var changes = [DurableChange.delete(sequences: deleted)]
            // The message of this copy may be among the deleted messages.
            if let copy { changes.append(keep(copy.sequence, in: &state, &generator)) }
            return changes
        default:
            let cursor = state.record.progress.cursor
            let passed = state.messages.filter { $0 > cursor }.prefix(.random(in: 0...6, using: &generator))
            let kept = passed.filter { _ in generator.chance(60) }
            state.record.progress.cursor = passed.last ?? cursor
            state.record.progress.seenThrough = last
            return kept.map { keep($0, in: &state, &generator) } + [.update(id: 1, state.record.progress)]
        }
    }

    private func keep(
        _ sequence: UInt64, in state: inout Snapshot, _ generator: inout SeededGenerator
    ) -> DurableChange {
        let message = message(sequence)
        let copy = Redelivery(
            sequence: sequence, failures: .random(in: 0...5, using: &generator),
            delayMicroseconds: .random(in: 0...1 << 50, using: &generator), isDead: generator.chance(20),
            bytes: message.frameBytes)
        let reason = generator.chance(30) ? "" : "reason \(copy.delayMicroseconds)"
        state.keep(copy, reason)
        return .keep(
            id: 1, copy, reason: reason, frame: generator.chance(50) ? LogBlock([message]).frames : nil)
    }
}
