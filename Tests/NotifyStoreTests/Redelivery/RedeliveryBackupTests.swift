import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Backups of logs that have copies of messages for durable subscriptions.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryBackupTests {
    private let folder: TemporaryFolder
    private let filter = SubscriptionFilter(patterns: [">"])

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    private func copy(_ sequence: UInt64) -> Redelivery {
        Redelivery(
            sequence: sequence, failures: UInt32(sequence % 7), delayMicroseconds: 1_800_000_000_000_000 + sequence,
            isDead: sequence % 5 == 0, bytes: StoredMessage.backedUp(sequence).frameBytes)
    }

    private func keep(_ sequence: UInt64) -> DurableChange {
        .keep(id: 1, copy(sequence), reason: "reason \(sequence)")
    }

    /// Restores the backup to another folder, and opens the restored log.
    private func restore(in other: TemporaryFolder) throws -> (log: Store, nextSequence: UInt64) {
        let restored = try Store.restore(BackupSource(path: folder.file("copy")), to: other.database)
        return (try Store.open(path: other.database, options: StoreOptions().withStoppedClock), restored.nextSequence)
    }

    @Test func `a restored log has every copy with its count and time, even of deleted messages`() async throws {
        var record = DurableRecord(id: 1, name: "one", filter, cursor: 300)
        record.settings = DurableSettings(
            sharing: .group, deadlineMicroseconds: 5_000_000, retryDelays: [7, 8, 9], maximumDeliveries: 3,
            maximumInFlight: 12)
        let log = try Store.open(path: folder.database, options: StoreOptions().withStoppedClock)
        await log.store(1...300)
        await log.commit([], changes: [.create(record)] + (100...299).map { keep($0) })
        await log.commit([], changes: [.forget(id: 1, sequences: [150]), .delete(sequences: Array(100...200))])
        try await log.backUp(to: folder.file("copy"))
        // The backup does not contain later changes.
        await log.commit([], changes: [.forget(id: 1, sequences: Array(100...250))])
        try log.close(nextSequence: 301)

        let other = try TemporaryFolder()
        let (copy, nextSequence) = try restore(in: other)
        let sequences = (UInt64(100)...299).filter { $0 != 150 }
        #expect(copy.recovered.problem == nil)
        #expect(copy.recovered.redeliveries == [1: sequences.map { self.copy($0) }])
        #expect(copy.recovered.subscriptions == [record])
        let content = try await copy.copies(sequences)
        #expect(content.block.messages == sequences.map { .backedUp($0) })
        #expect(content.reasons == sequences.map { "reason \($0)" })
        try copy.close(nextSequence: nextSequence)
        #expect(try FileCheck.run(path: other.database).findings.isSound)
    }

    @Test func `a backup made while messages fail has the copies that the cursor passed, and no others`() async throws {
        let log = try Store.open(path: folder.database, options: StoreOptions().withStoppedClock)
        var record = DurableRecord(id: 1, name: "one", filter)
        await log.store(1...1000)
        await log.commit([], changes: [.create(record)])
        async let backup: Void = log.backUp(to: folder.file("copy"))
        for sequence in UInt64(1)...1000 {
            record.progress.cursor = sequence
            record.progress.seenThrough = sequence
            await log.commit([], changes: [keep(sequence), .update(id: 1, record.progress)])
        }
        try await backup
        try log.close(nextSequence: 1001)

        let other = try TemporaryFolder()
        let (copy, nextSequence) = try restore(in: other)
        let cursor = try #require(copy.recovered.subscriptions.first).progress.cursor
        let passed = (0..<cursor).map { $0 + 1 }
        #expect(copy.recovered.redeliveries[1] ?? [] == passed.map { self.copy($0) })
        #expect(try await copy.copies(passed).block.messages == passed.map { .backedUp($0) })
        try copy.close(nextSequence: nextSequence)
        #expect(try FileCheck.run(path: other.database).findings.isSound)
    }
}
