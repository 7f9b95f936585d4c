import Foundation
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Changed values before, while and after they are written to their rows.
@Suite(.timeLimit(.minutes(25)))
struct ValuePassTests {
    private let folder: TemporaryFolder
    private let cleared = ClearedHeader.encoded(.cleared)

    init() throws {
        folder = try TemporaryFolder()
    }

    /// - Parameter changes: The number of changes after which a pass begins.
    private func open(changesPerPass changes: Int = .max, _ folder: TemporaryFolder? = nil) throws -> Store {
        var options = StoreOptions.withoutTimer
        options.valueChangesPerPass = changes
        options.segmentMessages = 4
        return try Store.open(path: (folder ?? self.folder).database, options: options)
    }

    /// Sets three values, and then replaces the first one and clears the second one.
    private func change(_ store: Store) async -> [StoredMessage] {
        let first = (1...3).map { StoredMessage($0, "a.\($0)", payload: [UInt8($0)]) }
        await store.set(first, [1, 2, 3])
        let second = [
            StoredMessage(4, "a.1", payload: [4]), StoredMessage(5, "a.2", headers: cleared, payload: []),
        ]
        await store.set(second, [1, -2])
        return [first[2]] + second
    }

    private func expect(_ messages: [StoredMessage], in store: Store, _ comment: Comment = "") async throws {
        #expect(try await store.values(.bySequence).block.messages == messages, comment)
        let present = [messages[1], messages[0]]
        #expect(try await store.values().block.messages == present, comment)
        #expect(try await store.values(.numbers([1, 2, 3])).block.messages == present, comment)
        #expect(try await store.values(omitsPayloads: true).block.messages.map(\.name) == present.map(\.name))
    }

    @Test(arguments: [Int.max, 1])
    func `changed values are read the same before and after a pass, also after a restart`(changes: Int) async throws {
        var store = try open(changesPerPass: changes)
        let messages = await change(store)
        store.waitForValuePass()
        for round in 0..<2 {
            try await expect(messages, in: store, "round \(round)")
            try store.close(nextSequence: 10)
            #expect(try folder.rows("SELECT count(*) FROM value_changes") == [changes == 1 ? "0" : "1"])
            let rows = try folder.rows("SELECT sequence FROM retained ORDER BY number")
            #expect(rows == (changes == 1 ? ["4", "5", "3"] : ["1", "2", "3"]))
            let check = try FileCheck.run(path: folder.database)
            #expect(check.findings.isSound && check.findings.values == 2)
            store = try open()
        }
        #expect(store.recovered.values.values.map(\.sequence) == [4, 5, 3])
        try store.close(nextSequence: 10)
    }

    @Test func `a pass begins after a number of changes, and after some time`() async throws {
        let clock = ManualClock()
        var options = StoreOptions.withoutTimer
        options.clock = clock.storeClock
        options.valueChangesPerPass = 2
        let store = try Store.open(path: folder.database, options: options)
        await store.set([StoredMessage(1, "a")], [1])
        await store.set([StoredMessage(2, "a")], [1])
        #expect(store.unappliedValues == 1)
        await store.set([StoredMessage(3, "a")], [1])
        store.waitForValuePass()
        #expect(store.unappliedValues == 0)
        await store.set([StoredMessage(4, "a")], [1])
        store.maintainIfDue()
        store.waitForValuePass()
        #expect(store.unappliedValues == 1)
        clock.advance(by: options.valuePassDelay)
        store.maintainIfDue()
        store.waitForValuePass()
        #expect(store.unappliedValues == 0)
        try store.close(nextSequence: 10)
    }

    @Test func `a pass begins when many values have changed`() async throws {
        var options = StoreOptions.withoutTimer
        options.changedValuesPerPass = 2
        let store = try Store.open(path: folder.database, options: options)
        await store.set([StoredMessage(1, "a"), StoredMessage(2, "b")], [1, 2])
        await store.set([StoredMessage(3, "a"), StoredMessage(4, "a")], [1, 1])
        store.waitForValuePass()
        #expect(store.unappliedValues == 1, "two changes of one value")
        await store.set([StoredMessage(5, "b")], [2])
        store.waitForValuePass()
        #expect(store.unappliedValues == 0)
        try store.close(nextSequence: 10)
    }

    @Test func `changed values stay when their messages are purged`() async throws {
        var store = try open()
        let messages = await change(store)
        try await store.purge(NamePattern(">"))
        #expect(try store.allSequences().isEmpty)
        for round in 0..<2 {
            try await expect(messages, in: store, "round \(round)")
            try store.close(nextSequence: 10)
            #expect(try FileCheck.run(path: folder.database).findings.isSound)
            store = try open()
        }
        try store.close(nextSequence: 10)
    }

    @Test func `a page continues between changed and unchanged values`() async throws {
        var options = StoreOptions.withoutTimer
        options.pageRows = 1
        let store = try Store.open(path: folder.database, options: options)
        let messages = await change(store)
        for (selection, expected) in [
            (PageRequest.Values.bySequence, messages), (.byNumber, [messages[1], messages[0]]),
        ] {
            var (found, after): ([StoredMessage], UInt64) = ([], 0)
            while true {
                let page = try await store.values(selection, after: after, through: 5)
                found += page.block.messages
                guard page.scannedThrough > after, page.scannedThrough < 5 else { break }
                after = page.scannedThrough
            }
            #expect(found == expected)
        }
        try store.close(nextSequence: 10)
    }

    @Test func `a mark that is not in its row is forgotten`() async throws {
        var store = try open()
        _ = await change(store)
        var forgotten = ForgottenValues()
        (forgotten.numbers, forgotten.through) = ([1, 2], 5)
        await store.set([], [], forgotten: forgotten)
        for _ in 0..<2 {
            #expect(try await store.values(.bySequence).block.messages.map(\.sequence) == [3, 4])
            try store.close(nextSequence: 10)
            store = try open()
        }
        #expect(store.recovered.values.values.map(\.number) == [1, 3])
        try store.close(nextSequence: 10)
    }

    @Test(arguments: [Int.max, 1])
    func `a log that replaces a lost one has the changed values`(changes: Int) async throws {
        let store = try open(changesPerPass: changes)
        let messages = await change(store)
        store.waitForValuePass()
        let other = try TemporaryFolder()
        try folder.copyDatabase(to: other)
        try open(other).close(nextSequence: 10)
        let new = try TemporaryFolder()
        try Store.open(path: new.database).close(nextSequence: 10)
        let source = try Log.open(at: other.database, StoreOptions()).log
        let target = try Log.open(at: new.database, StoreOptions()).log
        #expect(try target.takeValues(of: source))
        source.close()
        target.close()
        let copy = try open(new)
        try await expect(messages, in: copy)
        try copy.close(nextSequence: 10)
        try store.close(nextSequence: 10)
    }

    @Test(arguments: [Int.max, 1])
    func `a repair keeps changed values`(changes: Int) async throws {
        let store = try open(changesPerPass: changes)
        let messages = await change(store)
        store.waitForValuePass()
        try store.close(nextSequence: 10)
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.values == 2)
        let repaired = try Store.open(path: repair.newPath)
        try await expect(messages, in: repaired)
        try repaired.close(nextSequence: 10)
    }

    // MARK: Damage

    @Test(arguments: [
        "changes = x'00'", "changes = x''", "crc = crc + 1", "batch = batch + 1", "changes = x'040304'",
    ])
    func `a damaged record is reported, and a repair lets watchers read all values again`(
        damage: String
    ) async throws {
        let store = try open()
        _ = await change(store)
        try store.close(nextSequence: 10)
        try folder.execute("UPDATE value_changes SET \(damage)")
        let findings = try FileCheck.run(path: folder.database).findings
        #expect(findings.problems.map(\.part) == [.value])
        let damaged = try open()
        #expect(damaged.recovered.failure?.message.contains("record of changed values") == true)
        try damaged.close(nextSequence: 10)
        let repair = try FileRepair.run(path: folder.database)
        let repaired = try Store.open(path: repair.newPath)
        #expect(repaired.recovered.values.forgottenThrough >= 5 && repaired.recovered.values.values.count == 3)
        try repaired.close(nextSequence: 10)
    }

    @Test func `a value whose message is damaged is damaged, and has no earlier value`() async throws {
        var store = try open()
        let messages = await change(store)
        try store.close(nextSequence: 10)
        try folder.execute("UPDATE messages SET checksums = checksums + (1 << 32) WHERE sequence = 4")
        #expect(try FileCheck.run(path: folder.database).findings.problems.contains { $0.part == .value })
        store = try open()
        #expect(store.recovered.problem?.contains("values are lost (1)") == true)
        #expect(store.recovered.values.values.map(\.number) == [2, 3])
        #expect(try await store.values().block.messages == [messages[0]])
        try store.close(nextSequence: 10)
    }

    @Test func `a pass writes no earlier value and no wrong one for a damaged message`() async throws {
        var store = try open()
        _ = await change(store)
        try store.close(nextSequence: 10)
        try folder.execute("UPDATE messages SET payload = x'99' WHERE sequence = 4")
        try folder.execute("UPDATE messages SET key = key + 1 WHERE sequence = 5")
        store = try open(changesPerPass: 3)
        for isBefore in [true, false] {
            let page = try await store.values()
            #expect(page.block.messages.map(\.sequence) == [isBefore ? 3 : 6] && page.damaged == [1, 2])
            #expect(try await store.values(.bySequence).block.messages.map(\.sequence) == [isBefore ? 3 : 6])
            guard isBefore else { break }
            await store.set([StoredMessage(6, "a.3", payload: [6])], [3])
            store.waitForValuePass()
            #expect(store.unappliedValues == 0)
        }
        try store.close(nextSequence: 10)
        #expect(try FileCheck.run(path: folder.database).findings.problems.filter { $0.part == .value }.count == 2)
    }

    /// With a change of the other value as well, and without.
    @Test(arguments: [false, true])
    func `a forged record with the sequence of another value is damage`(isChanged: Bool) async throws {
        let store = try open()
        _ = await change(store)
        try store.close(nextSequence: 10)
        let connection = try Schema.open(folder.database).connection
        var changes = [ValueChange(sequence: 3, number: 1, isCleared: false)]
        if isChanged { changes.append(ValueChange(sequence: 4, number: 3, isCleared: false)) }
        try connection.execute("DELETE FROM value_changes")
        try ValueChangesRow(changes).write(with: PreparedStatement(connection, ValueChangesRow.insert))
        connection.close()
        #expect(try FileCheck.run(path: folder.database).findings.problems.map(\.part) == [.value])
        let damaged = try open()
        #expect(damaged.recovered.failure?.message.contains("two values have the sequence 3") == true)
        try damaged.close(nextSequence: 10)
    }

    @Test func `a repair keeps the values whose messages are not on an unreadable page`() async throws {
        let store = try open()
        let messages = (1...4).map {
            StoredMessage($0, $0 == 4 ? "a.1" : "a.\($0)", payload: Array(repeating: UInt8($0), count: 3_000))
        }
        await store.set(Array(messages[..<3]), [1, 2, 3])
        await store.set([messages[3]], [1])
        try store.close(nextSequence: 10)
        let query = "SELECT max(pageno) FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf'"
        let page = try #require(Int(folder.rows(query)[0]))
        let url = URL(fileURLWithPath: folder.database)
        var bytes = try Data(contentsOf: url)
        bytes.replaceSubrange((page - 1) * 4_096..<page * 4_096, with: repeatElement(0xFF, count: 4_096))
        try bytes.write(to: url)
        #expect(try FileCheck.run(path: folder.database).findings.problems.contains { $0.part == .value })
        let repair = try FileRepair.run(path: folder.database)
        let repaired = try Store.open(path: repair.newPath)
        #expect(try await repaired.values().block.messages == Array(messages[1..<3]))
        try repaired.close(nextSequence: 100)
    }

    // MARK: Random changes

    /// Sets and clears values, purges messages and restarts the store, with and without passes.
    @Test(arguments: 0..<6) func `values are the same as in a model`(round: UInt64) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let passes = [Int.max, 1, 7][Int(round % 3)]
        var store = try open(changesPerPass: passes)
        var values: [Int64: StoredMessage] = [:]
        // Numbers ascend with the first values.
        var last: UInt64 = 12
        for number in 1...12 as ClosedRange<Int64> {
            values[number] = StoredMessage(UInt64(number), "a.\(number)", payload: [1])
            await store.set([values[number] ?? StoredMessage(0)], [number])
        }
        for step in 0..<150 {
            let comment: Comment = "seed \(seed), round \(round), step \(step)"
            switch Int.random(in: 0..<20, using: &generator) {
            case 0:
                try store.close(nextSequence: last + 1)
                store = try open(changesPerPass: passes)
            case 1: try await store.purge(NamePattern("a.*"))
            default:
                var (messages, numbers): ([StoredMessage], [Int64]) = ([], [])
                let changed = (1...12).shuffled(using: &generator).prefix(.random(in: 1...4, using: &generator))
                for number in changed.map(Int64.init) {
                    last += .random(in: 1...3, using: &generator)
                    let isCleared = values[number]?.payload.isEmpty == false && generator.chance(30)
                    messages.append(
                        StoredMessage(
                            last, "a.\(number)", headers: isCleared ? cleared : [],
                            payload: isCleared ? [] : [UInt8(truncatingIfNeeded: last), 1]))
                    numbers.append(isCleared ? -number : number)
                    values[number] = messages.last
                }
                await store.set(messages, numbers)
            }
            let expected = values.values.sorted { $0.sequence < $1.sequence }
            let after = UInt64.random(in: 0...last, using: &generator)
            let changes = try await store.values(.bySequence, after: after).block.messages
            #expect(changes == expected.filter { $0.sequence > after }, comment)
            let present = values.sorted { $0.key < $1.key }.map(\.value).filter { !$0.payload.isEmpty }
            #expect(try await store.values().block.messages == present, comment)
            #expect(try await store.values(.numbers(Array(1...12))).block.messages == present, comment)
        }
        try store.close(nextSequence: last + 1)
        #expect(try FileCheck.run(path: folder.database).findings.isSound, "seed \(seed)")
    }
}
