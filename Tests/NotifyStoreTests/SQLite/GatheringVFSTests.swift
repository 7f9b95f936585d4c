import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// The writes of commits and checkpoints to the files.
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
        let store = try Store.open(path: folder.database, options: .withoutTimer)
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

    @Test func `a commit that writes headers again is complete in the files`() async throws {
        let store = try Store.open(path: folder.database, options: .withoutTimer)
        // The first commit after the start is flushed to disk; the second one is not.
        await store.commit(messages(1...1, bytes: 100))
        // SQLite's cache has room for 2 MB, so pages are written before the commit. One of them has the names, and the
        // second name changes it: SQLite writes it again, and then all headers that follow, as the last writes.
        let batch =
            [StoredMessage(2, "names.first")] + messages(3...602, bytes: 4096) + [StoredMessage(603, "names.second")]
        let count = await operations { await store.commit(batch) }
        #expect(count > 600, "\(count) writes are too few for each header")
        let copy = try TemporaryFolder()
        try folder.copyDatabase(to: copy)
        #expect(
            try copy.rows("SELECT count(*), max(sequence), sum(length(payload)) FROM messages")
                == ["603|603|\(100 + 5 + 600 * 4096 + 5)"])
        #expect(
            try copy.rows("SELECT name FROM names ORDER BY id") == ["orders.created", "names.first", "names.second"])
        #expect(try copy.rows("PRAGMA integrity_check") == ["ok"])
        try store.close(nextSequence: 604)
    }
}
