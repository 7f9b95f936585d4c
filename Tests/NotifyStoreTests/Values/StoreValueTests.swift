import Foundation
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

@Suite(.timeLimit(.minutes(25)))
struct StoreValueTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ options: StoreOptions = .withoutTimer) throws -> Store {
        try Store.open(path: folder.database, options: options)
    }

    @Test func `values are set, replaced and cleared with their messages, and survive a restart`() async throws {
        var store = try open()
        let cleared = ClearedHeader.encoded(.cleared)
        let messages = [
            StoredMessage(1, "a", payload: [1]), StoredMessage(2, "b", object: "o", payload: [2]),
            StoredMessage(3, "c", payload: [3]), StoredMessage(4, "a", headers: [], payload: [4]),
            StoredMessage(5, "c", headers: cleared, payload: []),
        ]
        await store.set(Array(messages[..<3]), [1, 2, 3])
        await store.set(Array(messages[3...]), [1, -3])
        for round in 0..<2 {
            #expect(try await store.values().block.messages == [messages[3], messages[1]], "round \(round)")
            #expect(try await store.values(.bySequence).block.messages == [messages[1], messages[3], messages[4]])
            try store.close(nextSequence: 10)
            store = try open()
        }
        let values = store.recovered.values
        #expect(values.values.map(\.number) == [1, 2, 3] && values.lastNumber == 3)
        #expect(values.values.map(\.sequence) == [4, 2, 5] && values.values.map(\.isCleared) == [false, false, true])
        #expect(values.values.map(\.bytes) == [128 + 1 + 1, 128 + 1 + 1 + 1, 128 + 1 + cleared.count])
        #expect(values.values.map { $0.nameKey != nil } == [false, true, false])
        let (name, object) = (Array("b".utf8), Array("o".utf8))
        let key = name.withUnsafeBytes { name in object.withUnsafeBytes { ValueKey(name: name, object: $0) } }
        #expect(values.values[1].key == key)
        try store.close(nextSequence: 10)
    }

    @Test func `content of every size is read, from messages and from rows`() async throws {
        var store = try open()
        let sizes = [0, 1, 1_000, 1_023, 1_024, 1_025, 4_000, 9_000]
        let messages = zip(1..., sizes).map { sequence, size in
            StoredMessage(UInt64(sequence), "a.\(sequence)", payload: Array(repeating: UInt8(sequence), count: size))
        }
        await store.set(messages, (1...sizes.count).map { Int64($0) })
        for _ in 0..<2 {
            for selection in [PageRequest.Values.byNumber, .bySequence, .numbers(Array(1...UInt64(sizes.count)))] {
                #expect(try await store.values(selection).block.messages == messages)
            }
            try store.close(nextSequence: 10)
            store = try open()
        }
        try store.close(nextSequence: 10)
    }

    @Test func `pages of values are bounded, and continue at their position`() async throws {
        var options = StoreOptions.withoutTimer
        options.pageRows = 3
        let store = try open(options)
        let messages = (1...7).map { StoredMessage($0, "a.\($0)", payload: [UInt8($0)]) }
        await store.set(messages, (1...7).map { Int64($0) * 10 })
        let first = try await store.values()
        #expect(first.block.messages == Array(messages[..<3]) && first.scannedThrough == 30)
        let second = try await store.values(after: 30, through: 60, maximum: 2)
        #expect(second.block.messages == Array(messages[3..<5]) && second.scannedThrough == 50)
        let third = try await store.values(after: 50, through: 60)
        #expect(third.block.messages == [messages[5]] && third.scannedThrough == 60)
        let changes = try await store.values(.bySequence, after: 5)
        #expect(changes.block.messages == Array(messages[5...]) && changes.scannedThrough == 7)
        let numbers = try await store.values(.numbers([10, 25, 70]))
        #expect(numbers.block.messages == [messages[0], messages[6]] && numbers.scannedThrough == .max)
        let rest = try await store.values(.numbers([10, 25, 70]), after: 10)
        #expect(rest.block.messages == [messages[6]])
        try store.close(nextSequence: 10)
    }

    @Test func `a page of values ends before it exceeds its bytes`() async throws {
        var options = StoreOptions.withoutTimer
        options.pageBytes = 5_000
        let store = try open(options)
        let messages = (1...3).map { StoredMessage($0, "a.\($0)", payload: Array(repeating: 7, count: 3_000)) }
        await store.set(messages, [1, 2, 3])
        let first = try await store.values()
        #expect(first.block.messages == [messages[0]] && first.scannedThrough == 1)
        let keys = try await store.values(omitsPayloads: true)
        #expect(keys.block.messages.map(\.name) == ["a.1", "a.2", "a.3"])
        #expect(keys.block.messages.allSatisfy { $0.payload.isEmpty })
        try store.close(nextSequence: 10)
    }

    @Test func `names, objects and rights select values`() async throws {
        let store = try open()
        let messages = [
            StoredMessage(1, "a"), StoredMessage(2, "a", object: "o"), StoredMessage(3, "b", object: "o"),
            StoredMessage(4, "user.7.x"),
        ]
        await store.set(messages, [1, 2, 3, 4])
        func read(_ pattern: String, object: String? = nil, uid: UInt32 = 0) async throws -> [UInt64] {
            let filter = SubscriptionFilter(patterns: [try NamePattern(pattern)], object: object)
            return try await store.values(.byNumber, filter, access: .of(uid: uid)).block.entries.map(\.sequence)
        }
        #expect(try await read(">") == [1, 2, 3, 4])
        #expect(try await read(">", uid: 1000) == [1, 2, 3])
        #expect(try await read("a") == [1, 2])
        #expect(try await read("*", object: "o") == [2, 3])
        #expect(try await read("*", object: "") == [1])
        try store.close(nextSequence: 10)
    }

    @Test func `a purge deletes messages, but no values`() async throws {
        var store = try open()
        let messages = [StoredMessage(1, "a", payload: [1]), StoredMessage(2, "b", payload: [2])]
        await store.set(messages, [1, 2])
        try await store.purge(NamePattern(">"))
        #expect(try store.allSequences().isEmpty)
        #expect(try await store.values().block.messages == messages)
        try store.close(nextSequence: 3)
        store = try open()
        #expect(store.recovered.persistedThrough == 2, "a reader of changes must reach the sequences of values")
        #expect(store.recovered.nextSequence >= 3)
        #expect(try await store.values(.bySequence, after: 1).block.messages == [messages[1]])
        try store.close(nextSequence: 10)
    }

    @Test func `forgotten marks are deleted, and the highest of their sequences is kept`() async throws {
        var store = try open()
        let cleared = ClearedHeader.encoded(.cleared)
        await store.set([StoredMessage(1, "a"), StoredMessage(2, "b")], [1, 2])
        await store.set([StoredMessage(3, "a", headers: cleared, payload: [])], [-1])
        var forgotten = ForgottenValues()
        (forgotten.numbers, forgotten.through) = ([1, 2], 3)
        await store.set([StoredMessage(4, "c")], [3], forgotten: forgotten)
        try store.close(nextSequence: 10)
        store = try open()
        #expect(store.recovered.values.values.map(\.number) == [2, 3], "a value is never forgotten")
        #expect(store.recovered.values.forgottenThrough == 3)
        try await store.purge(NamePattern(">"))
        try store.close(nextSequence: 10)
        store = try open()
        #expect(store.recovered.persistedThrough >= 3, "a reader continues where clears are known")
        try store.close(nextSequence: 10)
    }

    @Test func `a batch whose value can't be written has no effect`() async throws {
        FaultyDisk.watch(folder.path)
        let store = try open()
        await store.set([StoredMessage(1, "a", payload: [1])], [1])
        FaultyDisk.set(.full, in: folder.path)
        let outcome = await store.set([StoredMessage(2, "a", payload: [2])], [1])
        #expect(outcome.failure?.kind == .full)
        FaultyDisk.set(nil, in: folder.path)
        #expect(try await store.values().block.messages.map(\.payload) == [[1]])
        #expect(await store.set([StoredMessage(3, "a", payload: [3])], [1]).failure == nil)
        #expect(try await store.values().block.messages.map(\.payload) == [[3]])
        try store.close(nextSequence: 10)
    }

    @Test func `a restored backup has the values of the backup`() async throws {
        var store = try open()
        let messages = [StoredMessage(1, "a", payload: [1]), StoredMessage(2, "b", payload: [2])]
        await store.set(messages, [1, 2])
        try await store.backUp(to: folder.file("copy"))
        await store.set([StoredMessage(3, "a", payload: [3])], [1])
        try store.close(nextSequence: 10)
        _ = try Store.restore(BackupSource(path: folder.file("copy")), to: folder.database)
        store = try open()
        #expect(try await store.values().block.messages == messages)
        try store.close(nextSequence: 20)
    }

    @Test func `a log that replaces a lost one keeps the values`() async throws {
        let store = try open()
        let messages = [
            StoredMessage(1, "a", payload: [1]), StoredMessage(2, "b", payload: Array(repeating: 1, count: 9_000)),
        ]
        await store.set(messages, [1, 2])
        try FileManager.default.removeItem(atPath: folder.database)
        let repair = await completion {
            store.repair(
                with: LogContinuation(
                    reservedBelow: 100, nextSubscriptionID: DurableID(1), subscriptions: [], messages: []),
                completion: $0)
        }
        guard case .replaced = repair else {
            Issue.record("\(repair)")
            return
        }
        #expect(try await store.values().block.messages == messages)
        try store.close(nextSequence: 100)
    }
}
