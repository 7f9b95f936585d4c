import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Batches with values that fail.
@Suite(.timeLimit(.minutes(25)))
struct ValueFailureTests {
    private let folder: TemporaryFolder
    private let first = [StoredMessage(1, "a", payload: [1]), StoredMessage(2, "b", payload: [2])]

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    /// A batch that replaces a value, clears another one and sets a new one.
    private func change(_ store: Store, from sequence: UInt64, isSynced: Bool = true) async -> CommitOutcome {
        let messages = [
            StoredMessage(sequence, "a", payload: Array(repeating: 3, count: 9_000)),
            StoredMessage(sequence + 1, "b", headers: ClearedHeader.encoded(.cleared), payload: []),
            StoredMessage(sequence + 2, "c", payload: [5]),
        ]
        var batch = CommitBatch(id: 1, blocks: [LogBlock(messages)], isSynced: isSynced)
        batch.values = [
            ValueChange(sequence: sequence, number: 1, isCleared: false),
            ValueChange(sequence: sequence + 1, number: 2, isCleared: true),
            // The broker does not use a number again whose batch has failed.
            ValueChange(sequence: sequence + 2, number: sequence, isCleared: false),
        ]
        return await store.commit(batch)
    }

    /// Expects that a batch of ``change(_:from:isSynced:)`` succeeds after earlier ones have failed, and is in the log.
    private func expectChange(_ store: Store, from sequence: UInt64) async throws {
        #expect(try await store.values().block.messages == first)
        #expect(try await store.values(.bySequence).block.messages == first)
        #expect(await change(store, from: sequence).failure == nil)
        try store.close(nextSequence: sequence + 3)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
        let again = try Store.open(path: folder.database)
        #expect(try await again.values().block.messages.map(\.sequence) == [sequence, sequence + 2])
        #expect(again.recovered.values.values.map(\.number) == [1, 2, sequence])
        #expect(again.recovered.values.values.map(\.isCleared) == [false, true, false])
        try again.close(nextSequence: sequence + 3)
    }

    @Test(arguments: [FaultyDisk.Fault.full, .write, .flush])
    func `a batch that can't be written changes no value`(fault: FaultyDisk.Fault) async throws {
        let store = try Store.open(path: folder.database)
        await store.set(first, [1, 2])
        for sequence in [3, 6] as [UInt64] {
            FaultyDisk.set(fault, in: folder.path)
            #expect(await change(store, from: sequence).failure != nil)
            FaultyDisk.set(nil, in: folder.path)
        }
        try await expectChange(store, from: 9)
    }

    @Test(arguments: ["", "-wal"], [false, true])
    func `a batch that is refused because a file was moved away changes no value`(
        suffix: String, isSynced: Bool
    ) async throws {
        let store = try Store.open(path: folder.database)
        await store.set(first, [1, 2])
        let path = folder.database + suffix
        for sequence in [3, 6] as [UInt64] {
            try moveFile(path, to: folder.file("elsewhere"))
            #expect(await change(store, from: sequence, isSynced: isSynced).failure != nil)
            try moveFile(folder.file("elsewhere"), to: path)
        }
        try await expectChange(store, from: 9)
    }

    @Test func `forgotten marks of a batch that fails are kept`() async throws {
        let store = try Store.open(path: folder.database)
        await store.set(first, [1, 2])
        #expect(await change(store, from: 3).failure == nil)
        var forgotten = ForgottenValues()
        (forgotten.numbers, forgotten.through) = ([2], 4)
        FaultyDisk.set(.full, in: folder.path)
        let outcome = await store.set(
            [StoredMessage(6, "d", payload: Array(repeating: 1, count: 9_000))], [6], forgotten: forgotten)
        #expect(outcome.failure?.kind == .full)
        FaultyDisk.set(nil, in: folder.path)
        #expect(try await store.values(.bySequence).block.messages.map(\.sequence) == [3, 4, 5])
        try store.close(nextSequence: 7)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.values.forgottenThrough == 0)
        #expect(again.recovered.values.values.map(\.number) == [1, 2, 3])
        try again.close(nextSequence: 7)
    }
}
