import Foundation
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Databases in which bits of copies of messages, or of the settings of a subscription, were flipped on disk.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryDamageTests {
    private let original: TemporaryFolder
    private let seed = UInt64.random(in: 0 ... .max)
    private var generator: SeededGenerator
    private var messages: [StoredMessage] = []
    private var record: DurableRecord
    private var copies: [UInt64: Redelivery] = [:]
    private var reasons: [UInt64: String] = [:]
    /// The sequences to look up, including those without a copy.
    private let sequences = Array(UInt64(1001)...1100)

    /// The result of reading a database.
    private struct Reading {
        var redeliveries: [Redelivery] = []
        var content = RedeliveryPage.Content(block: LogBlock(), reasons: [])
        var failure: StorageFailure?
        var problem: String?
    }

    init() throws {
        original = try TemporaryFolder()
        generator = SeededGenerator(seed: seed)
        print("seed \(seed)")
        record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("name.>"), cursor: 1100)
        record.settings = DurableSettings(
            sharing: .group, deadlineMicroseconds: 31_415_926, retryDelays: [271_828], maximumDeliveries: 9,
            maximumInFlight: 77)
        messages = StoredMessage.hundred(using: &generator)
        for index in messages.indices { messages[index].sequence += 1000 }
        // A copy that takes several pages.
        messages[3].payload = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        for message in messages where message.sequence % 2 == 0 {
            copies[message.sequence] = Redelivery(
                sequence: message.sequence, failures: .random(in: 0...9, using: &generator),
                delayMicroseconds: .random(in: 0...1 << 50, using: &generator), isDead: generator.chance(20),
                bytes: message.frameBytes)
            reasons[message.sequence] = generator.chance(30) ? "" : "reason \(message.sequence)"
        }
    }

    /// Writes a database with a hundred messages, and copies of half of them. Some of the copied messages are deleted.
    private func writeOriginal() async throws {
        var options = StoreOptions.withoutTimer.withStoppedClock
        options.segmentMessages = 20
        let store = try Store.open(path: original.database, options: options)
        let kept = copies.values.sorted { $0.sequence < $1.sequence }.map { copy in
            DurableChange.keep(id: 1, copy, reason: reasons[copy.sequence] ?? "")
        }
        await store.commit(
            messages, changes: [.create(record)] + kept + [.delete(sequences: [1002, 1004, 1060, 1098])])
        try store.close(nextSequence: 1101)
        #expect(try FileCheck.run(path: original.database).findings.isSound)
    }

    /// The ranges of bytes of the table and its index.
    private func pages() throws -> [Range<Int>] {
        let size = try #require(Int(original.rows("PRAGMA page_size")[0]))
        let query = "SELECT pageno FROM dbstat WHERE name IN ('redeliveries', 'sqlite_autoindex_redeliveries_1')"
        return try original.rows(query).compactMap { Int($0) }.map { ($0 - 1) * size..<$0 * size }
    }

    /// Reads the subscription and all copies. Each must be as it was stored, or be missing.
    ///
    /// - Parameter isRepaired: Whether time may have passed since the original was written, because a repair reads the
    ///   clock of the machine.
    private func read(_ path: String, _ comment: Comment, isRepaired: Bool = false) async throws -> Reading {
        let store = try Store.open(path: path, options: StoreOptions().withStoppedClock)
        let recovered = store.recovered
        var reading = Reading(failure: recovered.failure, problem: recovered.problem)
        defer { try? store.close(nextSequence: recovered.nextSequence) }
        #expect(recovered.subscriptions.allSatisfy { $0.settings == record.settings }, comment)
        guard recovered.failure == nil else { return reading }
        // The only subscription is missing only if the damage is reported.
        #expect(recovered.subscriptions.count == 1 || recovered.problem != nil || isRepaired, comment)
        #expect(Set(recovered.redeliveries.keys).isSubset(of: [1]), comment)
        reading.redeliveries = recovered.redeliveries[1] ?? []
        for var redelivery in reading.redeliveries {
            let copy = copies[redelivery.sequence]
            if isRepaired, let copy { redelivery.delayMicroseconds = copy.delayMicroseconds }
            #expect(copy == redelivery, comment)
        }
        let ascending = zip(reading.redeliveries, reading.redeliveries.dropFirst()).allSatisfy {
            $0.sequence < $1.sequence
        }
        #expect(ascending, comment)
        do {
            reading.content = try await store.copies(sequences)
        } catch {
            reading.failure = error as? StorageFailure
        }
        let content = reading.content
        for (message, reason) in zip(content.block.messages, content.reasons) {
            #expect(messages[Int(message.sequence) - 1001] == message, comment)
            #expect(reasons[message.sequence] == reason, comment)
        }
        if reading.failure == nil {
            let found = content.block.entries.map(\.sequence)
            #expect(content.missing == sequences.filter { !found.contains($0) }, comment)
            #expect(found == found.sorted() && content.reasons.count == found.count, comment)
        }
        return reading
    }

    /// Makes an entry of the index refer to the row of the entry before it.
    @Test func `a copy that an index lists twice is recovered once, and the unlisted copy is reported`() async throws {
        try await writeOriginal()
        let url = URL(fileURLWithPath: original.database)
        let query = "SELECT pageno FROM dbstat WHERE name = 'sqlite_autoindex_redeliveries_1' AND pagetype = 'leaf'"
        let page = try #require(original.rows(query).compactMap { Int($0) }.first)
        // The offsets of a page's entries follow its header.
        let offsets = try (page - 1) * #require(Int(original.rows("PRAGMA page_size")[0])) + 8
        var data = try Data(contentsOf: url)
        data.replaceSubrange(offsets + 2..<offsets + 4, with: data[offsets..<offsets + 2])
        try data.write(to: url)
        let reading = try await read(original.database, "the second entry")
        #expect(reading.redeliveries.count == copies.count - 1)
        #expect(reading.problem?.contains("are lost (1)") == true)
        #expect(reading.content.missing.contains(1004))
    }

    private func isWhole(_ reading: Reading) -> Bool {
        reading.failure == nil && reading.redeliveries.count == copies.count
            && reading.content.block.entries.count == copies.count
    }

    /// Flips bits in 100 databases, and in more until each kind of outcome has occurred.
    @Test mutating func `no damage changes a copy, its count or the settings, and a repair leaves a sound log`()
        async throws
    {
        try await writeOriginal()
        let sound = try Data(contentsOf: URL(fileURLWithPath: original.database))
        let pages = try pages()
        let settings = try #require(sound.range(of: Data(record.settings.encoded.utf8)))
        var (lost, degraded, unharmed) = (0, 0, 0)
        var round = 0
        while round < 100 || (min(lost, degraded, unharmed) == 0 && round < 1000) {
            round += 1
            let comment: Comment = "seed \(seed), round \(round)"
            let folder = try TemporaryFolder()
            var data = sound
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let range = generator.chance(10) ? settings : pages.randomElement(using: &generator) ?? settings
                data[Int.random(in: range, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
            try data.write(to: URL(fileURLWithPath: folder.database))
            let findings = try FileCheck.run(path: folder.database).findings
            let repair = try FileRepair.run(path: folder.database)
            let reading = try await read(folder.database, comment)
            if isWhole(reading) {
                unharmed += 1
            } else {
                #expect(!findings.isSound, comment)
            }
            // Damage of rows (`.subscription`) is also noticed by reading them. Other damage, such as an index that
            // lacks a row, can hide rows from SQLite without an error, so only a check finds it.
            if !findings.isSound, findings.problems.allSatisfy({ $0.part == .subscription }) {
                let isMissing = reading.content.missing.count > sequences.count - copies.count
                #expect(reading.failure != nil || reading.problem != nil || isMissing, comment)
            }
            lost += reading.failure == nil ? copies.count - reading.content.block.entries.count : 0
            degraded += reading.failure == nil ? 0 : 1

            let after = try await read(repair.newPath, comment, isRepaired: true)
            #expect(after.failure == nil && after.problem == nil, comment)
            #expect(after.content.block.entries.map(\.sequence) == after.redeliveries.map(\.sequence), comment)
            #expect(repair.subscriptions == 1 || after.redeliveries.isEmpty, comment)
            #expect(repair.messages == 96, comment)
            #expect(try FileCheck.run(path: repair.newPath).findings.isSound, comment)
        }
        #expect(min(lost, degraded, unharmed) > 0, "\(lost) lost, \(degraded) degraded, \(unharmed) unharmed")
    }
}
