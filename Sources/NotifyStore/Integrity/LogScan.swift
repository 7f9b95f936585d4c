import NotifyLog
import NotifySystem
import NotifyWire

/// Checks a log in steps: the checksum of each row, and whether segments and cursors agree with the messages.
///
/// The start with a damaged log (``DamagedLog``), the checks and the repair read rows with the same functions: `init`
/// of `StateRow`, `SegmentRow` and `SubscriptionRow`, `NameRow.id` and ``MessageRow``.
final class LogScan {
    enum Target {
        /// A database that no daemon uses. Unreadable rows are skipped.
        case file
        /// The open log. The scan continues between requests to the log.
        case openLog
    }

    private enum Stage {
        case schema
        case state
        case names
        case subscriptions
        case redeliveries
        case values
        case deletions
        case messages
        case end
    }

    let connection: DatabaseConnection
    let target: Target
    private(set) weak var receiver: (any LogScanReceiver)?
    var findings = LogFindings()
    /// The sound row of the log's state.
    private(set) var state: StateRow?
    /// The highest sequence in a sound row.
    var highest: UInt64 = 0
    /// The checksums in the damaged rows of names, by the ids of the names.
    private var damagedNames: [UInt32: UInt32] = [:]
    /// The ranges of ids of subscriptions that can't be read.
    private(set) var unreadableSubscriptions: [ClosedRange<Int64>] = []
    private var subscriptionsSeen: Set<UInt64> = []
    /// Whether rows of deletions are damaged.
    private(set) var areDeletionsDamaged = false
    /// Whether values, or marks of cleared ones, are damaged.
    var areValuesDamaged = false
    private var isWithoutLosses = false
    private var stage = Stage.schema
    /// The tables of the file that can be read.
    private(set) var tables: Set<String> = []
    private var rows: RowScan?
    private var values: ValueScan?
    private var messages: MessageScan?
    /// Messages above this sequence are not read.
    private let through: UInt64
    /// The open log; nil for a file.
    let log: Log?

    /// Scans a database that no daemon uses.
    init(_ file: DatabaseConnection, receiver: (any LogScanReceiver)? = nil) {
        (connection, target, through, log) = (file, .file, .max, nil)
        self.receiver = receiver
    }

    /// Scans an open log, up to the present end.
    init(_ log: Log) {
        (connection, target, through) = (log.connection, .openLog, log.persistedThrough)
        self.log = log
    }

    /// Continues the scan until a time.
    ///
    /// - Parameter names: The names of the open log. The names of a file are added while they are read.
    /// - Returns: Whether work remains.
    func advance(_ names: inout NameTable, until end: ContinuousClock.Instant? = nil) throws -> Bool {
        defer {
            rows?.pause()
            values?.pause()
            messages?.pause()
        }
        while stage != .end {
            if let end, ContinuousClock.now >= end { return true }
            switch stage {
            case .schema: try readSchema()
            case .state: try readState()
            case .names: try readNames(&names)
            case .subscriptions: try readSubscriptions()
            case .redeliveries: try readRedeliveries()
            case .values: try readValues()
            case .deletions: try readDeletions()
            case .messages: try readMessages(names)
            case .end: break
            }
        }
        return false
    }

    /// The share of the messages that was checked, in percent. The other tables are small.
    var progress: Int {
        guard stage == .messages, let position = messages?.position, through > 0, through < .max else {
            return stage == .end ? 100 : 0
        }
        return Int(clamping: min(position, through) * 100 / through)
    }

    // MARK: Stages

    /// Compares the schema of a file with that of a log, before anything else is read. A caller that needs the result
    /// calls this before `advance(_:until:)`. Otherwise `advance` calls it. Only the tables of a log are read, even if
    /// other parts of the schema differ.
    ///
    /// - Parameter version: The version of the schema.
    /// - Returns: Whether the schema is that of a log.
    @discardableResult
    func readSchema(version: Int = Schema.version) throws -> Bool {
        stage = .state
        guard target == .file else { return true }
        do {
            let schema = try LogSchema(version: version)
            let difference = try schema.difference(in: connection)
            if let difference { findings.add(.database, Schema.altered(difference).message) }
            tables = try schema.readableTables(in: connection)
            return difference == nil
        } catch let failure as SQLiteFailure where failure.isUnreadable {
            findings.add(.database, "the schema can't be read: \(failure)")
            return false
        }
    }

    private func readState() throws {
        stage = .names
        let isReadableTable = target == .openLog || tables.contains("state")
        let row = isReadableTable ? try? PreparedStatement(connection, "SELECT \(StateRow.columns) FROM state") : nil
        if let row, try isReadable({ try row.step() }) { state = StateRow(row) }
        if state == nil { findings.add(.state, "the row of the log's state is missing or damaged") }
        rows = try open(NameRow.columns, from: "names", key: "id")
    }

    private func isReadable(_ step: () throws -> Bool) throws -> Bool {
        do {
            return try step()
        } catch let failure as SQLiteFailure where target == .file && failure.isUnreadable {
            return false
        }
    }

    private func readNames(_ names: inout NameTable) throws {
        guard let row = try rows?.next() else {
            noteUnreadable(.name, "names with the ids")
            if target == .file { restoreNames(&names) }
            let hasLosses = target == .openLog || tables.contains("losses")
            rows = hasLosses ? try open(SubscriptionRow.columns, from: SubscriptionRow.table, key: "id") : nil
            stage = .subscriptions
            return
        }
        guard let id = NameRow.id(in: row) else {
            findings.add(.name, "the name with the id \(row.integer(0)) is damaged")
            if let id = UInt32(exactly: row.integer(0)) { damagedNames[id] = row.integer32(2) }
            return
        }
        findings.names += 1
        if target == .file { add(row.bytes(1), id, &names) }
    }

    private func add(_ name: UnsafeRawBufferPointer, _ id: UInt32, _ names: inout NameTable) {
        if names.number(ofID: id) == nil, names.find(name) == nil, id < .max { names.add(name, id: id) }
    }

    /// Restores names with unusable rows from the table's index, which has a second copy of each name. A copy whose
    /// checksum can't be read is accepted: the checksums of its messages cover the name.
    private func restoreNames(_ names: inout NameTable) {
        guard !damagedNames.isEmpty || rows?.unreadable.isEmpty == false else { return }
        guard tables.contains("names"),
            let index = try? PreparedStatement(
                connection, "SELECT id, name FROM names INDEXED BY sqlite_autoindex_names_1 ORDER BY name")
        else { return }
        while (try? index.step()) ?? false {
            guard let id = UInt32(exactly: index.integer(0)), id != SegmentEntry.unknownName else { continue }
            let name = index.bytes(1)
            if let checksum = damagedNames[id], NameRow.checksum(id: id, name) != checksum { continue }
            add(name, id, &names)
        }
    }

    private func readSubscriptions() throws {
        guard let row = try rows?.next() else {
            if try readsWithoutLosses() { return }
            noteUnreadable(.subscription, "durable subscriptions with the ids")
            unreadableSubscriptions = rows?.unreadable ?? []
            rows = try open("\(RedeliveryRow.columns), frame", from: "redeliveries", key: "id")
            stage = .redeliveries
            return
        }
        let subscription = SubscriptionRow(row)
        let record = subscription.record
        guard subscriptionsSeen.insert(row.integer(0)).inserted else { return }
        receiver?.subscription(subscription)
        guard subscription.isSound else {
            return findings.add(
                .subscription,
                "the durable subscription '\(record.name)' of user \(record.owner.uid) (id \(row.integer(0))) has damaged "
                    + subscription.damagedParts.joined(separator: ", "))
        }
        let last = max(record.progress.cursor, record.progress.acknowledged.last?.last ?? 0)
        if let state, last >= max(state.reservedThrough, state.nextSequence) {
            return findings.add(
                .subscription,
                "the durable subscription '\(record.name)' of user \(record.owner.uid) has acknowledged sequence \(last), "
                    + "which no message has had")
        }
        findings.subscriptions += 1
        highest = max(highest, record.progress.cursor, record.progress.seenThrough)
    }

    /// Reads the subscriptions again without their losses, if some can't be read with them.
    ///
    /// - Returns: Whether the subscriptions are read again.
    private func readsWithoutLosses() throws -> Bool {
        guard target == .file, !isWithoutLosses, rows?.unreadable.isEmpty != true else { return false }
        isWithoutLosses = true
        findings.add(.subscription, "the losses of durable subscriptions can't be read")
        rows = try open(SubscriptionRow.columns, from: SubscriptionRow.tableWithoutLosses, key: "id")
        return true
    }

    private func readRedeliveries() throws {
        guard let row = try rows?.next() else {
            noteUnreadable(.subscription, "copies of messages with the ids")
            rows = nil
            values = try openValues()
            stage = .values
            return
        }
        guard let copy = RedeliveryRow(row), copy.message(in: row) != nil else {
            return findings.add(
                .subscription,
                "the copy of message \(row.integer(2)) for the durable subscription with the id \(row.integer(1)) is damaged"
            )
        }
        // The sequence must not be used again, because a subscription still has the copy of its message.
        highest = max(highest, copy.sequence)
        try receiver?.redelivery(copy, body: row.bytes(RedeliveryRow.frameColumn))
    }

    private func readValues() throws {
        guard let next = try values?.next() else {
            noteUnreadable(.value, "values with the numbers", in: values?.rows)
            if values?.rows.unreadable.isEmpty == false { areValuesDamaged = true }
            values = nil
            // Skips unreadable rows even in the open log, which works without the deletions.
            rows = try open(DeletionRow.columns, from: "deletions", key: "mark", isSkipping: true)
            areDeletionsDamaged = rows == nil
            stage = .deletions
            return
        }
        guard let value = next.value, value.isContentSound(next.row) else {
            areValuesDamaged = true
            return findings.add(.value, "the value with the number \(next.number) is damaged")
        }
        findings.values += value.isCleared ? 0 : 1
        highest = max(highest, value.stamp.sequence)
        try receiver?.value(value, in: next.row)
    }

    private func readDeletions() throws {
        guard let row = try rows?.next() else {
            noteUnreadable(.segment, "deletion records with the marks")
            if rows?.unreadable.isEmpty == false { areDeletionsDamaged = true }
            rows = nil
            messages = try MessageScan(self, through: through)
            stage = .messages
            return
        }
        guard let deletions = DeletionRow(row) else {
            areDeletionsDamaged = true
            return findings.add(
                .segment, "the deletion record with the mark \(Int64(bitPattern: row.integer(0))) is damaged")
        }
        receiver?.deletion(deletions)
    }

    private func readMessages(_ names: borrowing NameTable) throws {
        guard let messages, try messages.readNext(names) else {
            self.messages = nil
            stage = .end
            return
        }
    }

    /// Reports the ranges that the finished scan of a table could not read.
    func noteUnreadable(_ kind: LogPart, _ what: String, in scan: RowScan? = nil) {
        for range in (scan ?? rows)?.unreadable ?? [] {
            let end = range.upperBound == .max ? "on" : "to \(range.upperBound)"
            findings.add(kind, "\(what) from \(range.lowerBound) \(end) can't be read")
        }
    }
}
