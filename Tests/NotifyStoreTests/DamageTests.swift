import Foundation
import NotifyLog
import TestSupport
import Testing

@testable import NotifyStore

/// Databases in which bits were flipped on disk.
@Suite(.timeLimit(.minutes(10)))
struct DamageTests {
    @Test(arguments: [
        "payload = x'00'", "name = 2", "name = 77", "time = time + 1", "uid = 0", "pid = 1", "crc = crc + 1",
        "object = 'x'", "id = 'x'", "headers = x'01'", "object = CAST(zeroblob(300) AS TEXT)",
    ])
    func `a damaged message is skipped and reported`(damage: String) async throws {
        let folder = try TemporaryFolder()
        var store = try Store.open(path: folder.database)
        let messages = (1...5).map { StoredMessage($0, $0 == 5 ? "b" : "a") }
        await store.commit(messages)
        try store.close(nextSequence: 6)
        try folder.execute("UPDATE messages SET \(damage) WHERE sequence = 3")
        store = try Store.open(path: folder.database)
        let page = try await store.page(SubscriptionFilter(">"))
        #expect(page.block.messages == messages.filter { $0.sequence != 3 })
        #expect(page.damaged == [3])
        #expect(page.scannedThrough == 5)
        try store.close(nextSequence: 6)
    }

    /// Flips bits anywhere in 200 databases. A database that opens delivers only what was posted.
    @Test func `no damage changes a delivered message`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let original = try TemporaryFolder()
        var options = StoreOptions()
        options.segmentMessages = 20
        let store = try Store.open(path: original.database, options: options)
        let messages = (1...100).map { sequence in
            StoredMessage(
                sequence, "name.\(sequence % 7)", object: sequence % 3 == 0 ? "object" : "",
                payload: (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                    UInt8.random(in: 0 ... .max, using: &generator)
                })
        }
        await store.commit(messages)
        try store.close(nextSequence: 101)
        let sound = try Data(contentsOf: URL(fileURLWithPath: original.database))
        var (opened, damaged) = (0, 0)
        for _ in 0..<200 {
            let folder = try TemporaryFolder()
            var data = sound
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                data[Int.random(in: 0..<data.count, using: &generator)] ^=
                    1 << UInt8.random(in: 0..<8, using: &generator)
            }
            try data.write(to: URL(fileURLWithPath: folder.database))
            guard let store = try? Store.open(path: folder.database, options: options) else { continue }
            opened += 1
            for filter in try [SubscriptionFilter(">"), SubscriptionFilter("name.3"), SubscriptionFilter("name.*")] {
                guard let page = try? await store.page(filter, subscription: 9) else { continue }
                damaged += page.damaged.count
                for message in page.block.messages {
                    #expect(messages[Int(message.sequence) - 1] == message)
                }
            }
            try? store.close(nextSequence: 200)
        }
        #expect(opened > 20)
        #expect(damaged > 5)
    }
}
