import Foundation
import NotifyLog
import NotifySystem
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The check and the repair of a log that no daemon uses.
@Suite(.timeLimit(.minutes(25)))
struct FileCheckTests {
    private static let messages = (1...10).map { StoredMessage($0, $0 % 3 == 0 ? "b" : "a", object: "x") }

    /// Damages the payload of a message, whose key columns stay sound, and deletes another message of its segment.
    private static let damagedAndMissing =
        "UPDATE messages SET payload = x'00' WHERE sequence = 1; DELETE FROM messages WHERE sequence = 2"

    /// A closed log with two closed segments of four messages, two more messages, and two subscriptions.
    private static func makeLog(in folder: TemporaryFolder) async throws {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        var lossy = try DurableRecord(id: 1, uid: 7, name: "lossy", SubscriptionFilter("a"), cursor: 3)
        lossy.loss = Loss(first: 1, last: 2, count: 1, isUpperBound: false)
        let other = try DurableRecord(id: 2, uid: 7, name: "other", SubscriptionFilter("b"), cursor: 6)
        let store = try Store.open(path: folder.database, options: options)
        await store.commit(messages, changes: [.create(lossy), .create(other)], reserveBelow: 100)
        try store.close(nextSequence: 11)
    }

    private static func problems(_ folder: TemporaryFolder) throws -> [String] {
        try FileCheck.run(path: folder.database).findings.problems.map(\.text)
    }

    @Test func `a check finds no damage in a sound log, and does not change it`() async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        let check = try FileCheck.run(path: folder.database)
        #expect(check.findings.isSound)
        #expect(check.hasReadRows)
        #expect(check.findings.messages == 10)
        #expect(check.findings.names == 2)
        #expect(check.findings.segments == 2)
        #expect(check.findings.subscriptions == 2)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
        #expect(!exists(folder.database + "-wal"))
    }

    /// Kinds of damage, each with the reported problem, and the numbers of messages and subscriptions that the repair
    /// keeps.
    @Test(
        arguments: [
            ("UPDATE messages SET payload = x'00' WHERE sequence = 3", "", 9, 2),
            ("UPDATE messages SET key = (2 << 32) WHERE sequence IN (1, 10)", "", 8, 2),
            ("UPDATE messages SET checksums = checksums + (1 << 40) WHERE sequence = 2", "", 10, 2),
            ("UPDATE messages SET sequence = 11 WHERE sequence = 10", "", 9, 2),
            ("DELETE FROM messages WHERE sequence = 2", "lacks 1 messages", 9, 2),
            (damagedAndMissing, "lacks 1 messages", 8, 2),
            ("UPDATE segments SET last = last + 1 WHERE first = 1", "segment that begins at 1 is damaged", 10, 2),
            ("UPDATE segments SET messages = -1 WHERE first = 1", "segment that begins at 1 is damaged", 10, 2),
            ("DELETE FROM segments WHERE first = 1", "4 messages from 1 to 4 are in no sound segment", 10, 2),
            ("UPDATE names SET name = 'c' WHERE id = 2", "name with the id 2 is damaged", 7, 2),
            ("DROP TABLE names", "table names can't be read", 0, 2),
            ("UPDATE state SET next_sequence = 3", "state is missing or damaged", 10, 2),
            ("DELETE FROM state", "state is missing or damaged", 10, 2),
            ("UPDATE subscriptions SET patterns = 'c' WHERE id = 1", "has damaged definition", 10, 1),
            ("UPDATE subscriptions SET gid = 9 WHERE id = 1", "has damaged rights", 10, 2),
            ("UPDATE subscriptions SET cursor = 9 WHERE id = 1", "has damaged progress", 10, 2),
            ("UPDATE losses SET last = 9", "has damaged losses", 10, 2),
            ("DROP TABLE losses", "losses of durable subscriptions can't be read", 10, 2),
            ("DROP TABLE segments", "table segments can't be read", 10, 2),
            ("INSERT INTO deletions VALUES (9, x'', 1)", "deletion record with the mark 9 is damaged", 10, 2),
            ("DROP TABLE deletions", "table deletions can't be read", 10, 2),
        ] as [(String, String, Int, Int)])
    func `damage is reported and repaired`(
        damage: String, problem: String, messages: Int, subscriptions: Int
    ) async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        try folder.execute(damage)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        let check = try FileCheck.run(path: folder.database)
        #expect(!check.findings.isSound)
        if problem.isEmpty {
            #expect(check.findings.damagedMessages > 0)
        } else {
            #expect(check.findings.problems.contains { $0.text.contains(problem) }, "\(check.findings.problems)")
        }

        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.findings == check.findings.withoutStructure)
        #expect(repair.messages == UInt64(messages))
        #expect(repair.subscriptions == UInt64(subscriptions))
        #expect(repair.lostSubscriptions.count == 2 - subscriptions)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
        let repaired = try FileCheck.run(path: repair.newPath).findings
        #expect(repaired.isSound, "\(repaired)")
        #expect(repaired.messages == UInt64(messages))

        let store = try Store.open(path: repair.newPath)
        #expect(store.recovered.failure == nil)
        #expect(store.recovered.nextSequence > 10)
        #expect(store.recovered.nextSequence == repair.nextSequence)
        let kept = try await store.everything(SubscriptionFilter(">"))
        #expect(kept.count == messages)
        #expect(kept.allSatisfy { Self.messages[Int($0.sequence) - 1] == $0 })
        if damage.contains("SET cursor"), let record = store.recovered.subscriptions.first {
            #expect(record.progress.cursor == 0)
            #expect(record.progress.generation != 0)
        }
        try store.close(nextSequence: repair.nextSequence)
    }

    /// The expected losses of the subscriptions "lossy" (to "a", after 3, with a loss from 1 to 2) and "other" (to "b",
    /// after 6).
    @Test(
        arguments: [
            ("UPDATE messages SET payload = x'00' WHERE sequence = 3", (1...2, 1, false), nil),
            ("UPDATE messages SET payload = x'00' WHERE sequence IN (2, 5, 6, 10)", (1...10, 3, false), nil),
            ("UPDATE messages SET payload = x'00' WHERE sequence IN (7, 9)", (1...7, 2, false), (9...9, 1, false)),
            ("UPDATE messages SET key = (2 << 32) WHERE sequence = 10", (1...10, 2, true), (10...10, 1, true)),
            ("UPDATE names SET name = 'c' WHERE id = 2", (1...9, 3, true), (9...9, 1, true)),
            ("DELETE FROM messages WHERE sequence = 7", (1...8, 2, true), (7...8, 1, true)),
            ("DELETE FROM messages WHERE sequence = 2", (1...4, 2, true), nil),
            (damagedAndMissing, (1...4, 2, true), nil),
        ] as [(String, (ClosedRange<UInt64>, UInt64, Bool), (ClosedRange<UInt64>, UInt64, Bool)?)])
    func `a repair records the losses of subscriptions`(
        damage: String, lossy: (ClosedRange<UInt64>, UInt64, Bool), other: (ClosedRange<UInt64>, UInt64, Bool)?
    ) async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        try folder.execute(damage)
        let repair = try FileRepair.run(path: folder.database)
        let store = try Store.open(path: repair.newPath)
        let expected = [lossy, other].map { loss in
            loss.map { Loss(first: $0.0.lowerBound, last: $0.0.upperBound, count: $0.1, isUpperBound: $0.2) }
        }
        #expect(store.recovered.subscriptions.map(\.loss) == expected)
        #expect(repair.changedSubscriptions.count == (lossy.1 > 1 ? 1 : 0) + (other == nil ? 0 : 1))
        try store.close(nextSequence: repair.nextSequence)
    }

    @Test func `acknowledged messages do not count as lost`() throws {
        var progress = DurableProgress(cursor: 10, seenThrough: 30)
        progress.acknowledged = [SequenceRange(first: 12, last: 14), SequenceRange(first: 20, last: 25)]
        let filter = try SubscriptionFilter(">")
        var damaged = LostMessages()
        for sequence in [9, 10, 12, 13, 14, 20, 25] as [UInt64] { damaged.add(sequence, name: nil) }
        #expect(damaged.loss(of: filter, since: progress, NameTable()) == nil)
        for sequence in [26, 30] as [UInt64] { damaged.add(sequence, name: nil) }
        #expect(
            damaged.loss(of: filter, since: progress, NameTable())
                == Loss(first: 26, last: 30, count: 2, isUpperBound: true))
        var missing = LostMessages()
        missing.add(1...10, count: 5)
        missing.add(12...14, count: 3)
        #expect(missing.loss(of: filter, since: progress, NameTable()) == nil)
        missing.add(5...22, count: 100)
        #expect(
            missing.loss(of: filter, since: progress, NameTable())
                == Loss(first: 11, last: 22, count: 6, isUpperBound: true))
    }

    @Test func `after a repair of a damaged state row, sequences continue far higher, in another epoch`() async throws {
        let folder = try TemporaryFolder()
        try await Self.makeLog(in: folder)
        let epoch = try folder.rows("SELECT epoch FROM state")
        #expect(try FileRepair.run(path: folder.database, to: folder.file("sound")).nextSequence == 11)
        try folder.execute("UPDATE state SET log_id = x'00'")
        let repair = try FileRepair.run(path: folder.database, to: folder.file("new"))
        #expect(repair.isStateLost)
        #expect(repair.nextSequence == 10 + CurrentLog.skippedSequences)
        let epochs = try ["sound", "new"].map { name in
            try Store.open(path: folder.file(name)).recovered.epoch
        }
        #expect(String(Int64(bitPattern: epochs[0])) == epoch[0])
        #expect(epochs[1] != epochs[0])
    }

    @Test func `a check and a repair read the write-ahead log, and do not change it`() async throws {
        let (folder, copy) = (try TemporaryFolder(), try TemporaryFolder())
        let store = try Store.open(path: folder.database)
        await store.commit(Self.messages, reserveBelow: 100)
        try folder.copyDatabase(to: copy)
        #expect(throws: StoreError.self) { try FileCheck.run(path: folder.database) }
        #expect(throws: StoreError.self) { try FileRepair.run(path: folder.database) }
        try store.close(nextSequence: 11)
        let before = try Data(contentsOf: URL(fileURLWithPath: copy.database + "-wal"))
        #expect(try FileCheck.run(path: copy.database).findings.messages == 10)
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy.database + "-wal")) == before)
        #expect(try FileRepair.run(path: copy.database).messages == 10)
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy.database + "-wal")) == before)
    }

    @Test func `a file that is not a log, and an existing target, are refused`() async throws {
        let folder = try TemporaryFolder()
        #expect(throws: StoreError.self) { try FileCheck.run(path: folder.file("missing")) }
        #expect(throws: StoreError.self) { try FileCheck.run(path: folder.path) }
        try Data("not a database".utf8).write(to: URL(fileURLWithPath: folder.file("text")))
        #expect(throws: StoreError.self) { try FileCheck.run(path: folder.file("text")) }
        try folder.execute("CREATE TABLE other (id INTEGER)")
        #expect(throws: StoreError.self) { try FileCheck.run(path: folder.database) }
        #expect(throws: StoreError.self) { try FileRepair.run(path: folder.database) }

        let log = try TemporaryFolder()
        try await Self.makeLog(in: log)
        try Data("kept".utf8).write(to: URL(fileURLWithPath: log.file("new")))
        #expect(throws: StoreError.self) { try FileRepair.run(path: log.database, to: log.file("new")) }
        #expect(throws: StoreError.self) { try FileRepair.run(path: log.database, to: log.file("none/new")) }
        #expect(throws: StoreError.self) { try FileRepair.run(path: log.database, to: log.database) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: log.file("new"))) == Data("kept".utf8))
        try Data().write(to: URL(fileURLWithPath: log.file("other.part")))
        #expect(throws: StoreError.self) { try FileRepair.run(path: log.database, to: log.file("other")) }
    }

    @Test(arguments: [FaultyDisk.Fault.full, .write, .flush, .death])
    func `a repair that can't write leaves nothing behind`(fault: FaultyDisk.Fault) async throws {
        let (folder, target) = (try TemporaryFolder(), try TemporaryFolder())
        try await Self.makeLog(in: folder)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        FaultyDisk.watch(target.path)
        var isWritten = false
        for operations in 0..<200 where !isWritten {
            FaultyDisk.set(fault, in: target.path, after: operations)
            isWritten = (try? FileRepair.run(path: folder.database, to: target.database)) != nil
            FaultyDisk.set(nil, in: target.path)
            if isWritten {
                #expect(try FileCheck.run(path: target.database).findings.messages == 10)
            } else {
                #expect(try FileManager.default.contentsOfDirectory(atPath: target.path).isEmpty)
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
        }
        #expect(isWritten)
    }

    /// Overwrites whole pages, so that SQLite can't read them.
    @Test func `a repair keeps the rows around unreadable pages`() async throws {
        let folder = try TemporaryFolder()
        let store = try Store.open(path: folder.database)
        let messages = (1...2000).map { StoredMessage($0, "name.\($0 % 7)", payload: Array(repeating: 7, count: 100)) }
        await store.commit(messages, changes: [.create(try DurableRecord(id: 1, name: "d", SubscriptionFilter(">")))])
        try store.close(nextSequence: 2001)
        let url = URL(fileURLWithPath: folder.database)
        var data = try Data(contentsOf: url)
        // The leaf pages of tables, with more than 15 rows each.
        let leaves = (1..<data.count / 4096).filter { page in
            let start = page * 4096
            return data[start] == 13 && data[start + 4] > 15
        }
        #expect(leaves.count > 30)
        for leaf in [leaves[5], leaves[6], leaves[15], leaves[17]] {
            data.replaceSubrange(leaf * 4096..<(leaf + 1) * 4096, with: Data(repeating: 0xFF, count: 4096))
        }
        try data.write(to: url)
        let check = try FileCheck.run(path: folder.database)
        #expect(check.findings.problems.contains { $0.part == .database && $0.text.contains("can't be read") })
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.messages > 1800)
        #expect(repair.messages < 2000)
        #expect(repair.unreadable.count >= 2)
        #expect(repair.unreadable.allSatisfy { $0.upperBound <= 2000 })
        #expect(repair.subscriptions == 1)
        let repaired = try Store.open(path: repair.newPath)
        let kept = try await repaired.everything(SubscriptionFilter(">"))
        #expect(kept == messages.filter { message in !repair.unreadable.contains { $0.contains(message.sequence) } })
        let loss = try #require(repaired.recovered.subscriptions.first?.loss)
        #expect(loss.first == repair.unreadable.first?.lowerBound && loss.last == repair.unreadable.last?.upperBound)
        #expect(loss.count == repair.unreadable.reduce(0) { $0 + UInt64($1.count) } && loss.isUpperBound)
        try repaired.close(nextSequence: 3000)
    }

    /// Flips bits anywhere in 200 databases.
    @Test func `a repair of random damage keeps messages only as posted`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let original = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 20
        let store = try Store.open(path: original.database, options: options)
        let messages = StoredMessage.hundred(using: &generator)
        await store.commit(messages, changes: [.create(try DurableRecord(id: 1, name: "d", SubscriptionFilter(">")))])
        try store.close(nextSequence: 101)
        let sound = try Data(contentsOf: URL(fileURLWithPath: original.database))
        var (damaged, repaired, messagesKept, subscriptionsKept) = (0, 0, 0, 0)
        for _ in 0..<200 {
            let folder = try TemporaryFolder()
            let data = sound.flipping(Int.random(in: 1...4, using: &generator), using: &generator)
            try data.write(to: URL(fileURLWithPath: folder.database))
            if let check = try? FileCheck.run(path: folder.database), !check.findings.isSound { damaged += 1 }
            guard let repair = try? FileRepair.run(path: folder.database) else { continue }
            repaired += 1
            #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
            let store = try Store.open(path: repair.newPath, options: options)
            #expect(store.recovered.failure == nil)
            #expect(store.recovered.nextSequence > 100)
            let kept = try await store.everything(SubscriptionFilter(">"))
            #expect(UInt64(kept.count) == repair.messages)
            for message in kept { #expect(messages[Int(message.sequence) - 1] == message) }
            messagesKept += kept.count
            subscriptionsKept += store.recovered.subscriptions.count
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == data)
            try store.close(nextSequence: 1 << 50)
        }
        print("damaged \(damaged), repaired \(repaired), messages \(messagesKept), subscriptions \(subscriptionsKept)")
        #expect(damaged > 50)
        #expect(repaired > 150)
        #expect(messagesKept > repaired * 80)
        #expect(subscriptionsKept > repaired * 9 / 10)
    }
}

extension LogFindings {
    /// The findings without those of SQLite's own check.
    fileprivate var withoutStructure: LogFindings {
        var findings = self
        findings.problems.removeAll { $0.text.hasPrefix("SQLite: ") }
        findings.problemCount = UInt64(findings.problems.count)
        return findings
    }
}
