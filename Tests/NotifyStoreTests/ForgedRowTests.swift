import Foundation
import NIOCore
import NotifyLog
import NotifySystem
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Rows with impossible numbers but correct checksums, which a crafted file can contain.
@Suite(.timeLimit(.minutes(25)))
struct ForgedRowTests {
    enum Forgery: CaseIterable, Sendable {
        case cursor, seenThrough, acknowledged, lastUse, loss
        case copySequence, copyAge
        case segmentMessages, segmentBytes, segmentEntries, segmentEnd, segmentTime
        case nextSequence, logTime, sinceBoot, wallTime
        case messageSequence
        case deletionMark, deletionEnd, deletionCount
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A closed log with three closed segments of four messages, two more messages, and a subscription with a loss.
    private func makeLog(_ forgery: Forgery) async throws {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        var record = try DurableRecord(id: 1, uid: 7, name: "one", SubscriptionFilter("a"), cursor: 3)
        record.loss = Loss(first: 1, last: 2, count: 1, isUpperBound: false)
        let store = try Store.open(path: folder.database, options: options)
        await store.commit((1...14).map { StoredMessage($0, "a") }, changes: [.create(record)], reserveBelow: 100)
        if forgery == .messageSequence { await store.commit([StoredMessage(Limits.sequenceEnd, "a")]) }
        try store.close(nextSequence: 15)
        let connection = try Schema.open(folder.database).connection
        defer { connection.close() }
        try forge(forgery, connection)
    }

    private func forge(_ forgery: Forgery, _ connection: DatabaseConnection) throws {
        switch forgery {
        case .cursor: try setProgress(connection, cursor: Limits.sequenceEnd)
        case .seenThrough: try setProgress(connection, seenThrough: .max)
        case .acknowledged:
            try setProgress(connection, acknowledged: [SequenceRange(first: 9, last: Limits.sequenceEnd)])
        case .lastUse: try setProgress(connection, used: UInt64(bitPattern: Int64.min))
        case .loss:
            let loss = Loss(first: 1, last: .max, count: .max, isUpperBound: true)
            let update = try PreparedStatement(
                connection, "UPDATE losses SET last = -1, count = -1, is_upper_bound = 1, crc = ?")
            try update.bind(1, SubscriptionChecksums.ofLoss(loss, id: 1))
            try update.run()
        case .copySequence: try insertCopy(connection, of: .max, kept: .zero)
        case .copyAge: try insertCopy(connection, of: 3, kept: .microseconds(Int64.min))
        case .segmentMessages: try changeSegments(connection) { $0.segment.messages = .max }
        case .segmentBytes: try changeSegments(connection) { $0.segment.bytes = .max }
        case .segmentEntries:
            try changeSegments(connection) { row in
                row.segment.bytes = .max
                row.entries = SegmentEncoding.encode(
                    [SegmentEntry(name: 1, uid: 1000, messages: 4, bytes: UInt64(Int64.max))])
            }
        case .segmentEnd: try changeSegments(connection) { if $0.segment.first == 9 { $0.segment.last = .max } }
        case .segmentTime: try changeSegments(connection) { $0.closed = .microseconds(Int64.min) }
        case .nextSequence: try changeState(connection) { $0.nextSequence = .max }
        case .logTime: try changeState(connection) { $0.logTime = UInt64(Int64.max) }
        case .sinceBoot: try changeState(connection) { $0.sinceBoot = UInt64(bitPattern: Int64.min) }
        case .wallTime: try changeState(connection) { $0.wallTime = UInt64(bitPattern: Int64.min) }
        case .messageSequence: break
        case .deletionMark: try insertDeletion(connection, mark: UInt64(Int64.max), last: 4, count: 4)
        case .deletionEnd: try insertDeletion(connection, mark: 9, last: Limits.sequenceEnd, count: 4)
        case .deletionCount: try insertDeletion(connection, mark: 9, last: 4, count: .max)
        }
    }

    private func setProgress(
        _ connection: DatabaseConnection, cursor: UInt64 = 3, seenThrough: UInt64 = 3,
        acknowledged: [SequenceRange] = [], used: UInt64 = 0
    ) throws {
        let update = try PreparedStatement(
            connection,
            """
            UPDATE subscriptions SET cursor = ?, seen_through = ?, acknowledged = coalesce(?, x''), used = ?,
                progress_crc = ?, generation = 0, attached = 0
            """)
        try update.bind(1, cursor)
        try update.bind(2, seenThrough)
        try update.bind(4, used)
        try #require(RangeListEncoding.encode(acknowledged)).withUnsafeBytes { acknowledged in
            try update.bind(
                5,
                SubscriptionChecksums.ofProgress(
                    id: 1, cursor: cursor, seenThrough: seenThrough, generation: 0, isAttached: 0, used: used,
                    acknowledged: acknowledged))
            try update.bindBlob(3, acknowledged)
            try update.run()
        }
    }

    private func insertCopy(_ connection: DatabaseConnection, of sequence: UInt64, kept: Duration) throws {
        let block = LogBlock([StoredMessage(sequence, "a")])
        let insert = try PreparedStatement(
            connection,
            """
            INSERT INTO redeliveries (
                failures, due, dead, reason, crc, subscription, sequence, frame_crc, kept, name, frame)
            VALUES (?, ?, ?, coalesce(?, ''), ?, ?, ?, ?, ?, ?, ?)
            """)
        try block.frames.withUnsafeReadableBytes { bytes in
            let body = UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size...])
            let row = RedeliveryRow(
                1, Redelivery(sequence: sequence, failures: 1, bytes: 0), at: .zero, bytes: UInt32(bytes.count),
                reason: "why", frameChecksum: Checksum.of(body), kept: kept, name: "a")
            try row.insert(body, with: insert)
        }
    }

    private func insertDeletion(_ connection: DatabaseConnection, mark: UInt64, last: UInt64, count: UInt64) throws {
        let event = DeletionLog.Event(name: Array("a".utf8), first: 1, last: last, count: count)
        try DeletionRow(mark: mark, events: [event]).write(with: PreparedStatement(connection, DeletionRow.insert))
    }

    private func changeSegments(_ connection: DatabaseConnection, _ change: (inout SegmentRow) -> Void) throws {
        let select = try PreparedStatement(connection, "SELECT \(SegmentRow.columns) FROM segments")
        var rows: [SegmentRow] = []
        while try select.step() { rows.append(try #require(SegmentRow(select))) }
        #expect(rows.count == 3)
        let insert = try PreparedStatement(
            connection, "INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        for var row in rows {
            change(&row)
            try row.write(with: insert)
        }
    }

    private func changeState(_ connection: DatabaseConnection, _ change: (inout StateRow) -> Void) throws {
        var state = try StateRow(in: connection)
        change(&state)
        try state.write(with: PreparedStatement(connection, StateRow.update))
    }

    @Test(arguments: Forgery.allCases)
    func `a check, a restore, a repair and a start treat forged numbers as damage`(_ forgery: Forgery) async throws {
        try await makeLog(forgery)
        #expect(try !FileCheck.run(path: folder.database).findings.isSound)

        let other = try TemporaryFolder()
        #expect(throws: StoreError.self) {
            try Store.restore(BackupSource(path: folder.database), to: other.database)
        }

        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.nextSequence < Limits.sequenceEnd)
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
        let repaired = try Store.open(path: repair.newPath)
        #expect(repaired.recovered.failure == nil && repaired.recovered.nextSequence == repair.nextSequence)
        let next = repaired.recovered.nextSequence
        #expect(await repaired.commit([StoredMessage(next, "a")], reserveBelow: next + 100).failure == nil)
        #expect(try await repaired.everything(SubscriptionFilter(">")).count == 15)
        try repaired.close(nextSequence: next + 1)

        let started = try Store.open(path: folder.database)
        #expect(started.recovered.nextSequence < Limits.sequenceEnd)
        #expect(started.recovered.failure?.kind == .damaged || started.recovered.problem != nil)
    }
}
