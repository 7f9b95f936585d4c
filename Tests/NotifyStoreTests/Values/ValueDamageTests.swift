import Foundation
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Values whose rows were changed on disk.
@Suite(.timeLimit(.minutes(25)))
struct ValueDamageTests {
    let folder: TemporaryFolder
    private let messages = (1...5).map {
        StoredMessage($0, "a.\($0)", object: $0 == 3 ? "o" : "", payload: [UInt8($0), 9])
    }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeLog() async throws {
        let store = try Store.open(path: folder.database)
        await store.set(messages, [1, 2, 3, 4, 5])
        try store.close(nextSequence: 6)
    }

    private static let damages = [
        "payload = x'00'", "payload = NULL", "name = 'a.4'", "name = ''", "object = 'x'", "object = NULL",
        "headers = x'01'", "time = time + 1", "uid = 7", "uid = -1", "process = process + 1",
        "checksums = checksums + 1",
        "checksums = checksums + (1 << 32)", "sequence = 77", "cleared = 1", "cleared = 2", "number = 44",
    ]

    @Test(arguments: damages)
    func `a damaged value is never handed out, and the others are`(damage: String) async throws {
        try await makeLog()
        try folder.execute("UPDATE retained SET \(damage) WHERE number = 3")
        let store = try Store.open(path: folder.database)
        let others = messages.filter { $0.sequence != 3 }
        let page = try await store.values()
        #expect(page.block.messages == others)
        #expect(page.damaged.count == 1)
        #expect(try await store.values(.bySequence).block.messages == others)
        try store.close(nextSequence: 100)
        let findings = try FileCheck.run(path: folder.database).findings
        #expect(findings.values == 4 && findings.problems.map(\.part) == [.value])
    }

    @Test(arguments: damages)
    func `a repair keeps the other values, and lets watchers read all of them again`(damage: String) async throws {
        try await makeLog()
        try folder.execute("UPDATE retained SET \(damage) WHERE number = 3")
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.values == 4)
        let store = try Store.open(path: repair.newPath)
        #expect(try await store.values().block.messages == messages.filter { $0.sequence != 3 })
        #expect(store.recovered.values.forgottenThrough >= 5)
        try store.close(nextSequence: 100)
    }

    @Test func `a start reports lost values`() async throws {
        try await makeLog()
        try folder.execute("UPDATE retained SET time = time + 1 WHERE number = 5")
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.problem?.contains("values are lost (1)") == true)
        #expect(store.recovered.values.lastNumber == 5, "the number is not given to another name")
        try store.close(nextSequence: 100)
    }

    /// Changes two values, and clears one, in records of changes alone.
    ///
    /// - Returns: The values and the mark, in the order of their numbers.
    private func makeChangedLog() async throws -> [StoredMessage] {
        var options = StoreOptions.withoutTimer
        options.valueChangesPerPass = .max
        let store = try Store.open(path: folder.database, options: options)
        await store.set(messages, [1, 2, 3, 4, 5])
        let changes = [
            StoredMessage(6, "a.1", payload: [6, 9]), StoredMessage(7, "a.2", payload: [7, 9]),
            StoredMessage(8, "a.3", object: "o", headers: ClearedHeader.encoded(.cleared), payload: []),
        ]
        await store.set(changes, [1, 2, -3])
        #expect(store.unappliedValues == 3)
        try store.close(nextSequence: 9)
        return changes + messages[3...]
    }

    /// Bits anywhere in the file, which has values whose rows are older than their last changes.
    @Test func `flipped bits never show a wrong value`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let last = try await makeChangedLog()
        var pages = 0
        let sound = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        for _ in 0..<60 {
            try sound.flipping(Int.random(in: 1...40, using: &generator), using: &generator)
                .write(to: URL(fileURLWithPath: folder.database))
            guard let store = try? Store.open(path: folder.database) else { continue }
            for selection in [PageRequest.Values.byNumber, .bySequence, .numbers([1, 2, 3, 4, 5])] {
                guard let page = try? await store.values(selection) else { continue }
                let right = selection == .bySequence ? last : last.filter { $0.name != "a.3" }
                #expect(page.block.messages.allSatisfy(right.contains), "seed \(seed)")
                if page.block.messages.count == right.count { pages += 1 }
            }
            try? store.close(nextSequence: 100)
        }
        #expect(pages > 0, "seed \(seed): no store could be read")
    }
}
