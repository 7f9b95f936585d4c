import NIOCore
import NotifyLog
import NotifyWire

/// Writes the sound rows that a scan finds in the damaged log to a new log.
final class FileRepairer: LogScanReceiver {
    /// The limits of one transaction: the most messages, and the bytes after which no message is added.
    private static let batchMessages = 1024
    private static let batchBytes = 1 << 20

    private let source: LogFile
    private let log: Log
    private var block = LogBlock()
    private var rows: [SubscriptionRow] = []
    /// The clock of the damaged log; nil if its state can't be read.
    private let sourceClock: LogClock?
    /// The copies of messages, with their bodies, that are not written yet. Copies are written during the scan, and
    /// subscriptions after it.
    private var copies: [(row: RedeliveryRow, body: [UInt8])] = []
    private var copyBytes = 0
    private var valueSequences: Set<UInt64> = []
    private var deletions: DeletionLog
    /// The sequence of the oldest kept message.
    private var oldest: UInt64?
    private var lost = LostMessages()
    private var result: FileRepair

    /// - Parameters:
    ///   - tables: The tables of the source that may be read.
    ///   - path: The path at which the new log is written.
    ///   - newPath: The path to which the complete log will be moved.
    init(_ source: LogFile, _ tables: Set<String>, _ path: String, for newPath: String) throws {
        self.source = source
        var options = StoreOptions()
        options.retention.maximumBytes = nil
        options.retention.minimumFreeBytes = 0
        log = try Log(connection: Schema.open(path).connection, path: path, options: options)
        log.writer.makesRoom = false
        try log.database.readState()
        log.clock = LogClock(.system, continuing: log.database.state.clock)
        deletions = DeletionLog(at: log.clock.now)
        let state = tables.contains("state") ? try? StateRow(in: source.connection) : nil
        sourceClock = state.map { LogClock(.system, continuing: $0.clock) }
        result = FileRepair(path: source.path, newPath: newPath)
    }

    func run() throws -> FileRepair {
        defer { log.close() }
        let scan = LogScan(source.connection, receiver: self)
        var names = NameTable()
        _ = try scan.advance(&names)
        try flush()
        try finish(scan, names)
        result.findings = scan.findings
        result.nextSequence = log.database.state.nextSequence
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
        log.disk.checkpointIfDue()
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
        log.disk.checkpointIfDue()
    }

    // MARK: Values

    func value(_ value: ValueRow, in row: PreparedStatement) throws {
        // A forged row can have the sequence of another one.
        guard valueSequences.insert(value.stamp.sequence).inserted else { return }
        try log.inTransaction(.normal) { try value.copy(row, with: $0.values.set) }
        result.values += value.isCleared ? 0 : 1
        log.disk.checkpointIfDue()
    }

    // MARK: Deletions

    func deletion(_ row: DeletionRow) { deletions.read(row) }

    /// Writes the deletions, and notes the messages that the repair does not keep, in the transaction under way.
    private func finishDeletions(_ scan: LogScan, _ names: borrowing NameTable) {
        if scan.areDeletionsDamaged { deletions.noteUnknown(through: log.database.state.nextSequence - 1) }
        deletions.moveToNewDatabase()
        log.deletions = deletions
        for event in lost.events(names) { log.deletions.note(event) }
    }

    /// Removes the copies for subscriptions that are lost, or that have lost their progress and so receive the messages
    /// from the log again.
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
            // Without the state, the sequence of the last message is unknown, so the highest one found is used.
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
            result.lostSubscriptions.append("with any id from \(range.lowerBound) to \(range.upperBound)")
        }
        let ids = scan.state.map(\.nextSubscription) ?? UInt64(rows.map(\.record.id.rawValue).max() ?? 0) + 1
        try log.inTransaction(.full) { statements in
            try log.database.changeState(statements) { state in
                state.isClean = true
                state.nextSequence = next
                state.reservedThrough = next
                state.nextSubscription = max(state.nextSubscription, ids)
                if let epoch = scan.state?.epoch { state.epoch = epoch }
                // If values are lost, clients that watch them must read all of them again.
                state.forgottenThrough =
                    scan.areValuesDamaged || scan.state == nil ? next - 1 : scan.state?.forgottenThrough ?? 0
                state.clock = log.clock.mark
            }
            finishDeletions(scan, names)
        }
        try log.disk.checkpoints.run(.truncate)
    }
}

extension SubscriptionRow {
    /// The progress if it is sound; otherwise the start of the subscription.
    fileprivate var knownProgress: DurableProgress {
        let start = record.startedAfter
        return isProgressSound ? record.progress : DurableProgress(cursor: start, seenThrough: .max)
    }

    /// Replaces damaged parts of a subscription whose definition is sound. If the progress is damaged, the subscription
    /// starts at the oldest message, so that it misses none. If the owner is damaged, the subscription has no groups
    /// until a client attaches.
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
