import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Loses power while values are set and cleared, and while marks of cleared values are forgotten.
@Suite(.timeLimit(.minutes(25)))
struct ValuePowerLossTests {
    private struct Value: Equatable {
        var message: StoredMessage
        var isCleared: Bool
    }

    /// The contents of the log after a commit.
    private struct Snapshot: Equatable {
        var messages: [UInt64] = []
        /// By number.
        var values: [UInt64: Value] = [:]
        var forgottenThrough: UInt64 = 0

        /// The values and marks in the order of their numbers.
        var ordered: [(number: UInt64, value: Value)] {
            values.map { (number: $0, value: $1) }.sorted { $0.number < $1.number }
        }
    }

    private let seed = UInt64.random(in: 0 ... .max)

    /// Each batch stores messages, sets and clears values, and forgets marks in one step.
    @Test(arguments: 0..<40)
    func `after a power loss, a batch that changes values is complete or absent`(round: UInt64) async throws {
        var generator = SeededGenerator(seed: seed &+ round)
        let comment: Comment = "seed \(seed), round \(round)"
        let folder = try TemporaryFolder.thatLosesPower()
        let possible = try await changeUntilPowerIsLost(folder, hasPasses: round.isMultiple(of: 2), &generator)
        try folder.losePower(using: &generator)

        let store = try Store.open(path: folder.database, options: .withoutTimer)
        #expect(store.recovered.failure == nil && store.recovered.problem == nil, comment)
        let messages = try await store.everything(SubscriptionFilter(">"))
        let changes = try await store.values(.bySequence).block.messages
        let recovered = store.recovered.values
        var found = Snapshot(messages: messages.map(\.sequence), forgottenThrough: recovered.forgottenThrough)
        for value in recovered.values {
            let message = try #require(changes.first { $0.sequence == value.sequence }, comment)
            found.values[value.number] = Value(message: message, isCleared: value.isCleared)
        }
        #expect(possible.contains(found), comment)
        #expect(changes.count == found.values.count, comment)
        let present = found.ordered.filter { !$0.value.isCleared }
        #expect(try await store.values().block.messages == present.map(\.value.message), comment)
        #expect(recovered.lastNumber == found.values.keys.max() ?? 0, comment)
        try store.close(nextSequence: 100_000)
        #expect(try FileCheck.run(path: folder.database).findings.isSound, comment)
    }

    /// Commits batches until the power is lost.
    ///
    /// - Parameter hasPasses: Whether changed values are written to their rows meanwhile.
    /// - Returns: The possible contents after the loss: those of the last flush, and those of each later commit.
    private func changeUntilPowerIsLost(
        _ folder: TemporaryFolder, hasPasses: Bool, _ generator: inout SeededGenerator
    ) async throws -> [Snapshot] {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 8
        options.checkpointBytes = 64 << 10
        if hasPasses { options.valueChangesPerPass = 5 }
        let store = try Store.open(path: folder.database, options: options)
        var state = Snapshot()
        await store.commit([], reserveBelow: 90_000, isSynced: true)
        folder.diesSoon(within: 1000, using: &generator)
        var possible = [state]
        var (last, lastNumber): (UInt64, UInt64) = (0, 0)
        while true {
            var batch = CommitBatch(id: 1, blocks: [], isSynced: generator.chance(20))
            var messages: [StoredMessage] = []
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                last += 1
                messages.append(change(last, &lastNumber, &state, &batch, &generator))
            }
            forget(&state, &batch, &generator)
            if !messages.isEmpty { batch.blocks = [LogBlock(messages)] }
            state.messages += messages.map(\.sequence)
            guard await store.commit(batch).failure == nil else { return possible + [state] }
            possible = batch.isSynced ? [state] : possible + [state]
        }
    }

    /// A message that sets a value, clears one, or does neither.
    private func change(
        _ sequence: UInt64, _ lastNumber: inout UInt64, _ state: inout Snapshot, _ batch: inout CommitBatch,
        _ generator: inout SeededGenerator
    ) -> StoredMessage {
        guard generator.chance(80) else { return StoredMessage(sequence, "a") }
        let changed = Set(batch.values.map(\.number))
        let known = state.values.keys.filter { !changed.contains($0) }.sorted().randomElement(using: &generator)
        // A number is not used again after its mark was forgotten.
        let isNew = known == nil || generator.chance(30)
        if isNew { lastNumber += 1 }
        let number = isNew ? lastNumber : known ?? lastNumber
        let isCleared = state.values[number]?.isCleared == false && generator.chance(40)
        let message = StoredMessage(
            sequence, "value.\(number)", headers: isCleared ? ClearedHeader.encoded(.cleared) : [],
            payload: isCleared
                ? []
                : Array(
                    repeating: UInt8(truncatingIfNeeded: sequence), count: .random(in: 0...6000, using: &generator)))
        state.values[number] = Value(message: message, isCleared: isCleared)
        batch.values.append(ValueChange(sequence: sequence, number: number, isCleared: isCleared))
        return message
    }

    /// Forgets some of the marks that the batch does not change.
    private func forget(_ state: inout Snapshot, _ batch: inout CommitBatch, _ generator: inout SeededGenerator) {
        let changed = Set(batch.values.map(\.number))
        for (number, value) in state.ordered
        where value.isCleared && !changed.contains(number) && generator.chance(20) {
            batch.forgottenValues.numbers.append(number)
            batch.forgottenValues.through = max(batch.forgottenValues.through, value.message.sequence)
            state.values[number] = nil
        }
        state.forgottenThrough = max(state.forgottenThrough, batch.forgottenValues.through)
    }
}
