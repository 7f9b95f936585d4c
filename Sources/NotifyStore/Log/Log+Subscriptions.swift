import NotifyCenter
import NotifyLog
import NotifyWire

/// Durable subscriptions as rows.
extension Log {
    func apply(_ change: DurableChange, _ statements: Statements) throws {
        switch change {
        case .create(let record):
            try create(record, statements)
        case .update(let id, let progress):
            let used = subscriptions.lastUse(of: id, afterUpdateTo: progress, at: clock.now)
            try update(id, subscriptions.raised(progress, of: id), used: used, statements)
        case .setOwner(let id, let owner):
            try statements.setOwner.bind(1, owner.gid)
            try statements.setOwner.bindText(2, copying: groups(of: owner))
            try statements.setOwner.bind(3, id.rawValue)
            try statements.setOwner.run()
        case .forgetLoss(let id, let last):
            try statements.forgetLoss.bind(1, id.rawValue)
            try statements.forgetLoss.bind(2, last)
            try statements.forgetLoss.run()
        case .remove(let id):
            try statements.removeLoss.bind(1, id.rawValue)
            try statements.removeLoss.run()
            try statements.removeSubscription.bind(1, id.rawValue)
            try statements.removeSubscription.run()
        }
    }

    /// Writes the progress of a subscription, and the log's time of its last use.
    func update(_ id: DurableID, _ progress: DurableProgress, used: Duration, _ statements: Statements) throws {
        try statements.updateSubscription.bind(6, id.rawValue)
        try statements.updateSubscription.bind(7, used.microseconds)
        try run(statements.updateSubscription, with: progress)
    }

    /// Adds the subscriptions to those by which retention decides.
    func track(_ records: [DurableRecord]) throws {
        for record in records { subscriptions.add(record, at: clock.now) }
        let rows = try PreparedStatement(connection, "SELECT id, used FROM subscriptions")
        while try rows.step() {
            subscriptions.setLastUse(
                of: DurableID(rows.integer32(0)), .microseconds(Int64(bitPattern: rows.integer(1))))
        }
    }

    private func create(_ record: DurableRecord, _ statements: Statements) throws {
        let insert = statements.createSubscription
        try insert.bind(6, record.id.rawValue)
        try insert.bind(7, record.owner.uid)
        try insert.bind(8, record.owner.gid)
        try insert.bindText(9, copying: groups(of: record.owner))
        try insert.bindText(10, copying: record.name)
        // No pattern contains a space.
        try insert.bindText(11, copying: record.filter.patterns.map(\.description).joined(separator: " "))
        try insert.bindText(12, copying: record.filter.object ?? "")
        try insert.bind(13, record.startedAfter)
        try insert.bind(14, clock.now.microseconds)
        try run(insert, with: record.progress)
        if let loss = record.loss { try statements.addLoss(loss, of: record.id) }
        try statements.raiseNextSubscription.bind(1, UInt64(record.id.rawValue) + 1)
        try statements.raiseNextSubscription.run()
    }

    private func groups(of owner: Identity) -> String {
        owner.groups.map(String.init).joined(separator: " ")
    }

    private func run(_ statement: PreparedStatement, with progress: DurableProgress) throws {
        defer { statement.clearBindings() }
        guard let acknowledged = RangeListEncoding.encode(progress.acknowledged) else {
            throw StorageFailure(kind: .inputOutput, message: "acknowledged ranges are not in ascending order")
        }
        try acknowledged.withUnsafeBytes { acknowledged in
            try statement.bind(1, progress.cursor)
            try statement.bind(2, progress.seenThrough)
            try statement.bindBlob(3, acknowledged)
            try statement.bind(4, progress.generation)
            try statement.bind(5, Int64(progress.isAttached ? 1 : 0))
            try statement.run()
        }
    }

    /// The current records of the subscriptions that the batch removes.
    func recordsRemoved(by batch: CommitBatch) throws -> [DurableRecord] {
        let ids = batch.changes.compactMap { if case .remove(let id) = $0 { id.description } else { nil } }
        return ids.isEmpty ? [] : try readSubscriptions(where: "id IN (\(ids.joined(separator: ", ")))")
    }

    func readSubscriptions(where condition: String = "true") throws -> [DurableRecord] {
        let rows = try PreparedStatement(
            connection,
            """
            SELECT id, uid, gid, groups, name, patterns, object, cursor, seen_through, acknowledged, generation,
                attached, started_after, losses.first, losses.last, losses.count, losses.is_upper_bound
            FROM subscriptions LEFT JOIN losses ON losses.subscription = subscriptions.id WHERE \(condition) ORDER BY id
            """)
        var records: [DurableRecord] = []
        while try rows.step() {
            guard let record = record(in: rows) else {
                throw StoreError(.damaged, "the log's durable subscription \(rows.integer32(0)) can't be read")
            }
            records.append(record)
        }
        return records
    }

    /// The subscription in the current row; nil if a column can't be decoded.
    private func record(in row: PreparedStatement) -> DurableRecord? {
        let groups = row.text(3).split(separator: " ").map { UInt32($0) }
        let patterns = try? row.text(5).split(separator: " ").map { try NamePattern(String($0)) }
        guard !groups.contains(nil), let patterns, let acknowledged = RangeListEncoding.decode(row.bytes(9)) else {
            return nil
        }
        let object = row.text(6)
        return DurableRecord(
            id: DurableID(row.integer32(0)),
            owner: Identity(uid: row.integer32(1), gid: row.integer32(2), groups: groups.compactMap { $0 }),
            name: row.text(4),
            filter: SubscriptionFilter(patterns: patterns, object: object.isEmpty ? nil : object),
            startedAfter: row.integer(12),
            progress: DurableProgress(
                cursor: row.integer(7), seenThrough: row.integer(8), acknowledged: acknowledged,
                generation: row.integer32(10), isAttached: row.integer(11) != 0),
            loss: row.integer(14) == 0
                ? nil
                : Loss(
                    first: row.integer(13), last: row.integer(14), count: row.integer(15),
                    isUpperBound: row.integer(16) != 0))
    }
}
