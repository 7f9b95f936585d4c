import NotifyCenter
import NotifyLog
import NotifySystem
import NotifyWire

/// Writing durable subscriptions to the database.
extension Log {
    func apply(_ change: DurableChange, _ statements: Statements) throws {
        switch change {
        case .create(let record):
            try create(record, statements)
        case .countDeleted(let record):
            try countDeleted(record, statements)
        case .update(let id, let progress):
            let (progress, used) = subscriptions.update(id, progress, at: clock.now)
            try update(id, progress, used: used, statements)
        case .replace(let record):
            try replace(record, statements)
        case .setOwner(let id, let owner, let attachment):
            try setOwner(of: id, to: owner, attachment, statements)
        case .addLoss(let id, let loss):
            try statements.losses.add(loss, of: id)
        case .forgetLoss(let id, let loss):
            try statements.losses.forget(loss, of: id)
        case .keep(let id, let row, let reason, let frame):
            try keep(row, reason, frame, for: id, statements)
        case .forget(let id, let sequences):
            try forget(sequences, of: id, statements)
        case .delete(let sequences):
            try delete(sequences, statements)
        case .remove(let id):
            try statements.redeliveries.forgetAll(of: id)
            try statements.losses.forget(of: id)
            try statements.subscriptions.remove.bind(1, id.rawValue)
            try statements.subscriptions.remove.run()
        }
    }

    /// Adds the known deletions after the starting sequence of a new subscription to its loss.
    private func countDeleted(_ record: DurableRecord, _ statements: Statements) throws {
        let access =
            subscriptions.policy.map { ReadAccess(policy: $0, identities: record.owners) }
            ?? .unrestricted(AccessPolicy())
        let request = PageRequest(
            for: .subscription, filter: record.filter, access: access, after: record.progress.cursor,
            through: persistedThrough, maximumMessages: 1, deletionMark: ReadLog.allDeletions)
        guard let loss = deletions.missed(by: request, scanned: persistedThrough, isEnd: true) else { return }
        try statements.losses.add(loss, of: record.id)
        var result = Deletion()
        result.began(record.progress.generation, of: record.id)
        result.add(loss, of: record.id)
        writer.add(result)
    }

    /// Writes the progress of a subscription, and the log's time of its last use.
    func update(_ id: DurableID, _ progress: DurableProgress, used: Duration, _ statements: Statements) throws {
        try statements.subscriptions.update.bind(8, id.rawValue)
        try run(statements.subscriptions.update, with: progress, used: used, of: id)
    }

    /// Adds the records to ``subscriptions``, from which retention knows which messages were read.
    func track(_ records: [DurableRecord]) throws {
        retention.noteOpened(at: clock.now)
        for record in records { subscriptions.add(record, at: clock.now) }
        let rows = try PreparedStatement(connection, "SELECT id, used FROM subscriptions")
        while try rows.step() {
            subscriptions.setLastUse(
                of: DurableID(rows.integer32(0)), .microseconds(Int64(bitPattern: rows.integer(1))))
        }
    }

    private func setOwner(
        of id: DurableID, to owner: Identity, _ attachment: LastAttachment, _ statements: Statements
    ) throws {
        guard var record = try readSubscriptions(where: "id = \(id)").first else { return }
        record.attached(owner)
        record.lastAttachment = attachment
        let update = statements.subscriptions.setOwner
        try update.bind(1, owner.gid)
        try update.bindText(2, copying: OwnerEncoding.groups(of: owner))
        try update.bindText(3, copying: OwnerEncoding.encode(record.earlierOwners))
        try update.bind(4, attachment.microseconds)
        try update.bind(5, attachment.pid)
        try update.bind(6, ownerChecksum(record))
        try update.bind(7, id.rawValue)
        try update.run()
    }

    private func create(_ record: DurableRecord, _ statements: Statements) throws {
        let insert = statements.subscriptions.create
        try insert.bind(8, record.id.rawValue)
        try insert.bind(9, record.owner.uid)
        try insert.bind(10, record.owner.gid)
        try insert.bindText(11, copying: OwnerEncoding.groups(of: record.owner))
        try insert.bindText(12, copying: record.name)
        try insert.bindText(13, copying: patterns(of: record))
        try insert.bindText(14, copying: record.filter.object ?? "")
        try insert.bind(15, record.startedAfter)
        try insert.bind(16, definitionChecksum(record))
        try insert.bind(17, ownerChecksum(record))
        try insert.bind(18, record.createdMicroseconds)
        try insert.bind(19, record.lastAttachment.microseconds)
        try insert.bind(20, record.lastAttachment.pid)
        try insert.bindText(21, copying: record.settings.encoded)
        try insert.bindText(22, copying: OwnerEncoding.encode(record.earlierOwners))
        try run(insert, with: record.progress, used: clock.now, of: record.id)
        if let loss = record.loss { try statements.losses.add(loss, of: record.id) }
        try database.changeState(statements) { state in
            state.nextSubscription = max(state.nextSubscription, UInt64(record.id.rawValue) + 1)
        }
    }

    /// Replaces the filter, the settings, the start and the progress of a subscription. Removes the losses and the
    /// copies of messages that belong to an earlier generation of its cursor.
    private func replace(_ record: DurableRecord, _ statements: Statements) throws {
        let statement = statements.subscriptions.replaceFilter
        try statement.bindText(1, copying: patterns(of: record))
        try statement.bindText(2, copying: record.filter.object ?? "")
        try statement.bind(3, record.startedAfter)
        try statement.bind(4, definitionChecksum(record))
        try statement.bindText(5, copying: record.settings.encoded)
        try statement.bind(6, record.id.rawValue)
        try statement.run()
        if subscriptions.generation(of: record.id) != record.progress.generation {
            try statements.losses.forget(of: record.id)
            try statements.redeliveries.forgetAll(of: record.id)
        }
        let (progress, used) = subscriptions.update(record.id, record.progress, at: clock.now, isUse: true)
        try update(record.id, progress, used: used, statements)
    }

    private func definitionChecksum(_ record: DurableRecord) -> UInt32 {
        SubscriptionChecksums.ofDefinition(
            id: UInt64(record.id.rawValue), uid: UInt64(record.owner.uid), startedAfter: record.startedAfter,
            created: record.createdMicroseconds, name: record.name, patterns: patterns(of: record),
            object: record.filter.object ?? "", settings: record.settings.encoded)
    }

    /// The patterns of a subscription with spaces between them. No pattern contains a space.
    private func patterns(of record: DurableRecord) -> String {
        record.filter.patterns.map(\.description).joined(separator: " ")
    }

    private func ownerChecksum(_ record: DurableRecord) -> UInt32 {
        SubscriptionChecksums.ofOwner(
            id: UInt64(record.id.rawValue), gid: UInt64(record.owner.gid),
            groups: OwnerEncoding.groups(of: record.owner), earlier: OwnerEncoding.encode(record.earlierOwners),
            attached: record.lastAttachment.microseconds, pid: UInt64(record.lastAttachment.pid))
    }

    private func run(
        _ statement: PreparedStatement, with progress: DurableProgress, used: Duration, of id: DurableID
    ) throws {
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
            try statement.bind(
                6,
                SubscriptionChecksums.ofProgress(
                    id: UInt64(id.rawValue), cursor: progress.cursor, seenThrough: progress.seenThrough,
                    generation: UInt64(progress.generation), isAttached: progress.isAttached ? 1 : 0,
                    used: UInt64(bitPattern: used.microseconds), acknowledged: acknowledged))
            try statement.bind(7, used.microseconds)
            try statement.run()
        }
    }

    /// The current records of the subscriptions that the batch removes or replaces.
    func recordsRemoved(by batch: CommitBatch) throws -> [DurableRecord] {
        let ids = batch.changes.compactMap { change in
            switch change {
            case .remove(let id): id.description
            case .replace(let record): record.id.description
            default: nil
            }
        }
        return ids.isEmpty ? [] : try readSubscriptions(where: "id IN (\(ids.joined(separator: ", ")))")
    }

    func readSubscriptions(where condition: String = "true") throws -> [DurableRecord] {
        let rows = try PreparedStatement(connection, SubscriptionRow.select(where: condition))
        var records: [DurableRecord] = []
        while try rows.step() {
            guard let record = SubscriptionRow.record(in: rows) else {
                throw StoreError(.damaged, "the log's durable subscription \(rows.integer32(0)) is damaged")
            }
            records.append(record)
        }
        return records
    }
}
