import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// The calls of the disk for commits and checkpoints.
@Suite(.timeLimit(.minutes(25))) struct GatheringVFSTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    private func messages(_ sequences: ClosedRange<UInt64>, bytes: Int) -> [StoredMessage] {
        sequences.map { StoredMessage($0, payload: [UInt8](repeating: 7, count: bytes)) }
    }

    /// The number of operations of the disk while `body` runs.
    private func operations(_ body: () async throws -> Void) async rethrows -> Int {
        FaultyDisk.set(.full, in: folder.path, after: .max - 1)
        try await body()
        defer { FaultyDisk.set(nil, in: folder.path) }
        return FaultyDisk.operations(in: folder.path)
    }

    @Test func `a large batch takes a few writes, and a single message takes one`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit(messages(1...1, bytes: 100))
        let single = await operations { await store.commit(messages(2...2, bytes: 100)) }
        #expect(single == 1)
        // 409,600 bytes of payloads; without gathering, each of about 112 pages takes two writes.
        let large = await operations { await store.commit(messages(3...102, bytes: 4096)) }
        #expect((7...12).contains(large), "\(large)")
        let checkpoint = try await operations { try store.close(nextSequence: 103) }
        #expect(checkpoint < 40, "\(checkpoint)")
        let again = try Store.open(path: folder.database)
        #expect(try await again.everything(SubscriptionFilter(">")).map(\.sequence) == Array(1...102))
        try again.close(nextSequence: 103)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
    }
}
