import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Backups of logs that have values.
@Suite(.timeLimit(.minutes(25)))
struct ValueBackupTests {
    private let folder: TemporaryFolder
    private let other: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        other = try TemporaryFolder()
    }

    /// Restores the backup to another folder, and opens the restored log.
    private func restore() throws -> (log: Store, nextSequence: UInt64) {
        let restored = try Store.restore(BackupSource(path: folder.file("copy")), to: other.database)
        return (try Store.open(path: other.database), restored.nextSequence)
    }

    @Test func `a restored log has the values and marks of the backup, even of deleted messages`() async throws {
        let log = try Store.open(path: folder.database)
        let messages = (1...100).map {
            StoredMessage($0, "a.\($0 % 40)", object: $0 % 2 == 0 ? "o" : "", payload: [UInt8($0)])
        }
        let numbers = (1...100).map { Int64($0 % 40) + 1 }
        await log.set(messages, numbers)
        let cleared = ClearedHeader.encoded(.cleared)
        let marks = (101...103).map { StoredMessage($0, "a.\($0 - 101)", headers: cleared, payload: []) }
        await log.set(marks, [-1, -2, -3])
        var forgotten = ForgottenValues()
        (forgotten.numbers, forgotten.through) = ([1], 101)
        await log.set([], [], forgotten: forgotten)
        try await log.purge(NamePattern(">"))
        let values = try await log.values().block.messages
        let changes = try await log.values(.bySequence).block.messages
        #expect(values.count == 37 && changes.count == 39)
        try await log.backUp(to: folder.file("copy"))
        // The backup does not contain later changes.
        await log.set([StoredMessage(200, "later")], [50])
        try log.close(nextSequence: 201)

        let (copy, nextSequence) = try restore()
        #expect(copy.recovered.problem == nil)
        #expect(copy.recovered.values.values.map(\.number) == Array(2...40))
        #expect(copy.recovered.values.values.filter(\.isCleared).map(\.number) == [2, 3])
        #expect(copy.recovered.values.forgottenThrough == 101 && copy.recovered.values.lastNumber == 40)
        #expect(try await copy.values().block.messages == values)
        #expect(try await copy.values(.bySequence).block.messages == changes)
        try copy.close(nextSequence: nextSequence)
        #expect(try FileCheck.run(path: other.database).findings.isSound)
    }

    /// Each batch sets both values to the same number, so a backup between two batches has equal ones.
    @Test func `a backup made while values change has the values of one moment`() async throws {
        let log = try Store.open(path: folder.database)
        func set(_ round: UInt64) async {
            let payload = Array(repeating: UInt8(truncatingIfNeeded: round), count: 5000)
            await log.set(
                [
                    StoredMessage(2 * round, "a", payload: payload),
                    StoredMessage(2 * round + 1, "b.\(round % 7)", payload: payload),
                ], [1, Int64(round % 7) + 2])
        }
        for round in UInt64(1)...50 { await set(round) }
        async let backup: Void = log.backUp(to: folder.file("copy"))
        for round in UInt64(51)...500 { await set(round) }
        try await backup
        try log.close(nextSequence: 2000)

        let (copy, nextSequence) = try restore()
        let values = try await copy.values(.bySequence).block.messages
        let last = try #require(values.last), first = try #require(values.first { $0.name == "a" })
        #expect(first.payload == last.payload && first.sequence + 1 == last.sequence)
        #expect(values.count == 8 && values.map(\.sequence) == values.map(\.sequence).sorted())
        #expect(try await copy.everything(SubscriptionFilter(">")).last == last)
        try copy.close(nextSequence: nextSequence)
        #expect(try FileCheck.run(path: other.database).findings.isSound)
    }
}
