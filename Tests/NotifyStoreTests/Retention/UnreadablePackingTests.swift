import Foundation
import NotifyCenter
import NotifyLog
import TestSupport
import Testing

@testable import NotifyStore

/// Deleting messages of a segment in which SQLite can't read another message.
@Suite(.timeLimit(.minutes(25)))
struct UnreadablePackingTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Finds an overflow page of a long payload, which is filled with `byte`, and overwrites its reference to the next
    /// page.
    private func breakPages(filledWith byte: UInt8) throws {
        let url = URL(fileURLWithPath: folder.database)
        let pageSize = try #require(try folder.rows("PRAGMA page_size").compactMap(Int.init).first)
        var data = try Data(contentsOf: url)
        let page = stride(from: 0, to: data.count, by: pageSize).first { start in
            data[start..<start + 4].contains { $0 != 0 } && data[start + 4..<start + pageSize].allSatisfy { $0 == byte }
        }
        let start = try #require(page)
        data.replaceSubrange(start..<start + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
        try data.write(to: url)
    }

    @Test(arguments: [4, 24, 36])
    func `a segment with a message that SQLite can't read stays as it was`(unreadable: UInt64) async throws {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 20
        let byte: UInt8 = 0xA5
        var store = try Store.open(path: folder.database, options: options)
        for start in stride(from: UInt64(1), to: 61, by: 20) {
            await store.commit(
                (start..<start + 20).map { sequence in
                    StoredMessage(
                        sequence, sequence % 4 == 1 ? "deleted" : "kept",
                        payload: [UInt8](repeating: byte, count: sequence == unreadable ? 20_000 : 500))
                })
        }
        await store.commit([StoredMessage(61, "kept")])
        try store.close(nextSequence: 62)
        try breakPages(filledWith: byte)
        store = try Store.open(path: folder.database, options: options)
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: [NamePattern("deleted")]), before: .max)
        let failure = await #expect(throws: StorageFailure.self) {
            try await completion { store.purge(request, completion: $0) }.get()
        }
        #expect(failure?.kind == .damaged)
        try store.close(nextSequence: 62)
        // The purge has deleted the messages of the segments before this one.
        let first = (unreadable - 1) / 20 * 20 + 1
        let kept = (UInt64(1)...61).filter { $0 >= first || $0 % 4 != 1 }
        #expect(try folder.rows("SELECT sequence FROM messages ORDER BY sequence") == kept.map(String.init))
        #expect(try !FileCheck.run(path: folder.database).findings.isSound)
    }
}
