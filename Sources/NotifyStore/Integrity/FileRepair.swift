import NIOCore
import Glibc
package import NotifyLog
import NotifySystem
package import NotifyWire
import SystemPackage

/// The repair of a log: a new database with everything sound that can be read from a damaged one.
package struct FileRepair: Sendable {
    package let path: String
    package let newPath: String
    /// The damage of the old file.
    package fileprivate(set) var findings = LogFindings()
    /// The messages of the new database.
    package fileprivate(set) var messages: UInt64 = 0
    package fileprivate(set) var lostMessages: UInt64 = 0
    /// The listed ranges of lost messages.
    package fileprivate(set) var lostRanges: [SequenceRange] = []
    /// The ranges of sequences that can't be read. The number of messages in them is unknown.
    package fileprivate(set) var unreadable: [ClosedRange<UInt64>] = []
    /// One line for each durable subscription that continues with a change.
    package fileprivate(set) var changedSubscriptions: [String] = []
    package fileprivate(set) var lostSubscriptions: [String] = []
    /// The number of durable subscriptions in the new database.
    package fileprivate(set) var subscriptions: UInt64 = 0
    /// Whether the state could not be read. Sequences then continue far above those found, under another epoch.
    package fileprivate(set) var isStateLost = false
    package fileprivate(set) var nextSequence: UInt64 = 0

    /// Writes the new database. The damaged one is not changed.
    ///
    /// The new file appears at its path, complete and on disk, when everything is written.
    ///
    /// - Parameter newPath: Where no file must exist. Nil for `path` with ".repaired" appended.
    /// - Throws: A `StoreError`. Nothing is left at the new path.
    package static func run(path: String, to newPath: String? = nil) throws(StoreError) -> FileRepair {
        let path = path.hasPrefix("/") ? path : "./" + path
        let newPath = newPath.map { $0.hasPrefix("/") ? $0 : "./" + $0 } ?? path + ".repaired"
        let source = try open(path)
        defer { source.connection.close() }
        let tables: Set<String>
        do {
            tables = try readableTables(in: source)
        } catch {
            throw StoreError(repairing: path, to: newPath, error)
        }
        guard !DatabaseFile(path: path).ownPaths.contains(where: { FilePath($0) == FilePath(newPath) }) else {
            throw StoreError(
                .notAccessible, "'\(newPath)' is a file of the database '\(path)': choose another with --to")
        }
        guard !DatabaseFile(path: newPath).exists else {
            throw StoreError(.notAccessible, "the file '\(newPath)' exists: move it away, or choose another with --to")
        }
        let temporary = DatabaseFile(path: newPath + ".part")
        do throws(Errno) {
            try temporary.create()
        } catch .fileExists {
            throw StoreError(
                .notAccessible,
                "the file '\(temporary.path)' exists: another repair is at work, or one was interrupted; then remove the file"
            )
        } catch {
            throw StoreError(repairing: path, to: newPath, error)
        }
        temporary.removeLogs()
        do {
            let repair = try FileRepairer(source, tables, temporary.path, for: newPath).run()
            // A daemon that has started meanwhile may have changed what was read.
            try LogFile.checkUse(path)
            try temporary.move(to: newPath)
            return repair
        } catch {
            temporary.remove()
            throw StoreError(repairing: path, to: newPath, error)
        }
    }

    private static func open(_ path: String) throws(StoreError) -> LogFile {
        do throws(StoreError) {
            return try LogFile.open(path)
        } catch {
            guard error.code == .notADatabase else { throw error }
            throw StoreError(
                .notADatabase,
                "\(error.message), and nothing can be read from it: restore a backup with \"notifyd --restore FILE\"",
                cause: error)
        }
    }

    /// The tables from which the repair may read.
    ///
    /// - Throws: A `StoreError` if the database can't be repaired.
    private static func readableTables(in source: LogFile) throws -> Set<String> {
        if source.version > 0, source.version < Schema.version {
            let isAltered = try LogSchema(version: source.version).difference(in: source.connection) != nil
            throw StoreError(
                .newerSchema,
                "the database '\(source.path)' is of an earlier version, which a repair does not read: "
                    + (isAltered ? "restore a backup" : "start notifyd with it, which migrates it"))
        }
        let tables = try? LogSchema(version: Schema.version).readableTables(in: source.connection)
        guard let tables, tables.contains("messages") else {
            throw StoreError(
                .damaged,
                "nothing can be read from the database '\(source.path)', because its beginning is damaged: restore a "
                    + "backup")
        }
        return tables
    }
}

extension StoreError {
    fileprivate init(repairing path: String, to newPath: String, _ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as Errno:
            self.init(
                [.noSpace, .diskQuotaExceeded].contains(error) ? .full : .notAccessible,
                "the file '\(newPath)' can't be written: \(AccessProblem.describe(error, opening: newPath))",
                cause: error)
        case let failure as StorageFailure where failure.kind == .full:
            self.init(noSpaceFor: newPath, failure)
        case let failure as SQLiteFailure where failure.isFull:
            self.init(noSpaceFor: newPath, failure)
        default:
            self.init(.inputOutput, "the database '\(path)' was not repaired: \(error)", cause: error)
        }
    }

    private init(noSpaceFor path: String, _ error: any Error) {
        self.init(
            .full,
            "the disk is full: the file '\(path)' was not written; make room on it, or choose another disk with --to",
            cause: error)
    }
}

/// Writes what a scan of the damaged log finds to a new log.
private final class FileRepairer: LogScanReceiver {
    /// The most messages, and the bytes after which no message is added, of one transaction.
    private static let batchMessages = 1024
    private static let batchBytes = 1 << 20

    private let source: LogFile
    private let log: Log
    private var block = LogBlock()
    private var rows: [SubscriptionRow] = []
    /// The time of the damaged log; nil if its state can't be read.
    private let sourceClock: LogClock?
    /// The copies of messages, and their bodies, that are not written yet. The subscriptions follow after the messages,
    /// so the copies are written without them.
    private var copies: [(row: RedeliveryRow, body: [UInt8])] = []
    private var copyBytes = 0
    private var deletions: DeletionLog
    private var oldest: UInt64?
    private var lost = LostMessages()
    private var result: FileRepair

    /// - Parameter tables: The tables of the source that may be read.
    init(_ source: LogFile, _ tables: Set<String>, _ path: String, for newPath: String) throws {
        self.source = source
        var options = StoreOptions()
        options.retention.maximumBytes = nil
        options.retention.minimumFreeBytes = 0
        log = try Log(connection: Schema.open(path).connection, path: path, options: options)
        log.makesRoom = false
        try log.readState()
        log.clock = LogClock(.system, continuing: log.state.clock)
        deletions = DeletionLog(at: log.clock.now)
        let state = tables.contains("state") ? try? StateRow(in: source.connection) : nil
        sourceClock = state.map { LogClock(.system, continuing: $0.clock) }
        result = FileRepair(path: source.path, newPath: newPath)
    }

    func run() throws -> FileRepair {
        defer { log.close() }
        let scan = LogScan(source.connection, .file, receiver: self)
        var names = NameTable()
        _ = try scan.advance(&names)
        try flush()
        try finish(scan, names)
        result.findings = scan.findings
        result.nextSequence = log.state.nextSequence
        result.isStateLost = scan.state == nil
        return result
    }

    // MARK: Messages

    func message(_ sequence: UInt64, frame: ByteBuffer) throws {
        if oldest == nil { oldest = sequence }
        result.messages += 1
        block.entries.append(
            LogBlock.Entry(
                sequence: sequence, offset: UInt32(block.frames.writerIndex), length: UInt32(frame.readableBytes)))
        block.frames.writeImmutableBuffer(frame)
        if block.entries.count == Self.batchMessages || block.frames.writerIndex >= Self.batchBytes { try flush() }
    }

    func lostMessage(_ sequence: UInt64, name: UInt32?) {
        lost.add(sequence, name: name)
        result.lostMessages += 1
        result.lostRanges.insert(sequence, limit: LogFindings.maximumRanges)
    }

    func missingMessages(_ sequences: ClosedRange<UInt64>, count: UInt64) { lost.add(sequences, count: count) }

    func unreadableMessages(_ sequences: ClosedRange<Int64>) {
        result.unreadable.append(UInt64(max(0, sequences.lowerBound))...UInt64(sequences.upperBound))
    }

    private func flush() throws {
        guard !block.entries.isEmpty else { return }
        try log.commit(CommitBatch(id: 0, blocks: [block])).result.get()
        log.checkpointIfDue()
        block = LogBlock()
    }

    // MARK: Copies

    func redelivery(_ row: RedeliveryRow, body: UnsafeRawBufferPointer) throws {
        copies.append((row.moved(from: sourceClock?.now, to: log.clock.now), Array(body)))
        copyBytes += body.count
        if copies.count == Self.batchMessages || copyBytes >= Self.batchBytes { try flushCopies() }
    }

    private func flushCopies() throws {
        let insert = try PreparedStatement(
            log.connection,
            """
            INSERT OR IGNORE INTO redeliveries (
                failures, due, dead, reason, crc, subscription, sequence, frame_crc, kept, name, frame)
            VALUES (?, ?, ?, coalesce(?, ''), ?, ?, ?, ?, ?, ?, ?)
            """)
        try log.inTransaction(.normal) { _ in
            for (row, body) in copies { try body.withUnsafeBytes { try row.insert($0, with: insert) } }
        }
        (copies, copyBytes) = ([], 0)
        log.checkpointIfDue()
    }

    // MARK: Deletions

    func deletion(_ row: DeletionRow) { deletions.read(row) }

    /// Writes the deletions, and notes what the repair does not keep, in the transaction under way.
    private func finishDeletions(_ scan: LogScan, _ names: borrowing NameTable) {
        if scan.areDeletionsDamaged { deletions.noteUnknown(through: log.state.nextSequence - 1) }
        deletions.moveToNewDatabase()
        log.deletions = deletions
        for event in lost.events(names) { log.deletions.note(event) }
    }

    /// Removes copies that no subscription needs: the subscription is lost, or has lost its progress and receives the
    /// messages from the log again.
    private func removeCopies(ofRestarted ids: [DurableID]) throws {
        try log.connection.execute(
            "DELETE FROM redeliveries WHERE subscription NOT IN (SELECT id FROM subscriptions)")
        for id in ids {
            try log.connection.execute(
                "DELETE FROM redeliveries WHERE subscription = \(id) AND sequence IN (SELECT sequence FROM messages)")
        }
    }

    // MARK: Subscriptions

    func subscription(_ row: SubscriptionRow) { rows.append(row) }

    private func finish(_ scan: LogScan, _ names: borrowing NameTable) throws {
        let next = DamagedLog.nextSequence(after: scan.highest, scan.state)
        for range in result.unreadable {
            // Without the state, the sequence of the last message is not known.
            let end = max(range.lowerBound, min(range.upperBound, scan.state == nil ? scan.highest : next - 1))
            lost.add(range.lowerBound...end, count: end - range.lowerBound + 1)
        }
        try flushCopies()
        var restarted: [DurableID] = []
        for var row in rows {
            let name = "'\(row.record.name)' of user \(row.record.owner.uid)"
            guard row.isDefinitionSound else {
                result.lostSubscriptions.append("\(name) (id \(row.record.id))")
                continue
            }
            let damaged = row.damagedParts
            let loss = lost.loss(of: row.record.filter, since: row.knownProgress, names)
            row.replaceDamagedParts(oldest: oldest, next: next)
            if !row.isProgressSound { restarted.append(row.record.id) }
            if let loss { row.record.loss.add(loss) }
            try log.inTransaction(.normal) { try log.apply(.create(row.record), $0) }
            result.subscriptions += 1
            if !damaged.isEmpty {
                let start = row.isProgressSound ? "" : ", and starts at the oldest message"
                result.changedSubscriptions.append(
                    "\(name) had damaged \(damaged.joined(separator: ", "))\(start)")
            }
            if let loss {
                result.changedSubscriptions.append(
                    "\(name) has lost messages that it had not acknowledged: \(loss.isUpperBound ? "at most " : "")"
                        + "\(loss.count), from \(loss.first) to \(loss.last)")
            }
        }
        try removeCopies(ofRestarted: restarted)
        for range in scan.unreadableSubscriptions {
            result.lostSubscriptions.append("all with the ids \(range.lowerBound) to \(range.upperBound)")
        }
        let ids = scan.state.map(\.nextSubscription) ?? UInt64(rows.map(\.record.id.rawValue).max() ?? 0) + 1
        try log.inTransaction(.full) { statements in
            try log.changeState(statements) { state in
                state.isClean = true
                state.nextSequence = next
                state.reservedThrough = next
                state.nextSubscription = max(state.nextSubscription, ids)
                if let epoch = scan.state?.epoch { state.epoch = epoch }
                state.clock = log.clock.mark
            }
            finishDeletions(scan, names)
        }
        try log.checkpoints.run(.truncate)
    }
}

extension SubscriptionRow {
    /// The known progress; without any, the start of the subscription.
    fileprivate var knownProgress: DurableProgress {
        let start = record.startedAfter
        return isProgressSound ? record.progress : DurableProgress(cursor: start, seenThrough: .max)
    }

    /// Replaces damaged parts of a subscription whose definition is sound: it starts at the oldest message, so that it
    /// misses none, and its owner has no groups until a client attaches.
    fileprivate mutating func replaceDamagedParts(oldest: UInt64?, next: UInt64) {
        if !isOwnerSound {
            record.owner = Identity(uid: record.owner.uid, gid: .max, groups: [])
            record.earlierOwners = []
            record.lastAttachment = LastAttachment()
        }
        if !isLossSound { record.loss = nil }
        if !isProgressSound {
            record.progress = DurableProgress(
                cursor: (oldest ?? next) - 1, seenThrough: next - 1, generation: .random(in: 1 ... .max))
        }
    }
}
