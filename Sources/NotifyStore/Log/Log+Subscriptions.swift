import GRDBSQLite
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
            try statements.updateSubscription.bind(5, id.rawValue)
            try run(statements.updateSubscription, with: progress)
        case .setOwner:
            // The schema keeps the uid alone, which never changes.
            break
        case .remove(let id):
            try statements.removeSubscription.bind(1, id.rawValue)
            try statements.removeSubscription.run()
        }
    }

    private func create(_ record: DurableRecord, _ statements: Statements) throws {
        let insert = statements.createSubscription
        var name = record.name
        // No pattern holds a space.
        var patterns = record.filter.patterns.map(\.description).joined(separator: " ")
        var object = record.filter.object ?? ""
        try insert.bind(5, record.id.rawValue)
        try insert.bind(6, record.owner.uid)
        try name.withUTF8 { name in
            try patterns.withUTF8 { patterns in
                try object.withUTF8 { object in
                    try insert.bindText(7, UnsafeRawBufferPointer(name))
                    try insert.bindText(8, UnsafeRawBufferPointer(patterns))
                    try insert.bindText(9, UnsafeRawBufferPointer(object))
                    try run(insert, with: record.progress)
                }
            }
        }
        try statements.raiseNextSubscription.bind(1, UInt64(record.id.rawValue) + 1)
        try statements.raiseNextSubscription.run()
    }

    private func run(_ statement: PreparedStatement, with progress: DurableProgress) throws {
        defer { statement.forgetBindings() }
        guard let acknowledged = RangeSet.encode(progress.acknowledged) else {
            throw StorageFailure(kind: .inputOutput, message: "acknowledged ranges do not rise")
        }
        try acknowledged.withUnsafeBytes { acknowledged in
            try statement.bind(1, progress.cursor)
            try statement.bind(2, progress.seenThrough)
            try statement.bindBlob(3, acknowledged)
            try statement.bind(4, Int64(progress.isAttached ? 1 : 0))
            try statement.run()
        }
    }

    func readSubscriptions() throws -> [DurableRecord] {
        let rows = try PreparedStatement(
            connection,
            """
            SELECT id, uid, name, patterns, object, cursor, seen_through, acknowledged, attached
            FROM subscriptions ORDER BY id
            """)
        var records: [DurableRecord] = []
        while try rows.step() {
            let id = rows.integer32(0)
            let patterns = try? String(decoding: rows.bytes(3), as: UTF8.self).split(separator: " ")
                .map { try NamePattern(String($0)) }
            guard let patterns, let acknowledged = RangeSet.decode(rows.bytes(7)) else {
                throw StoreError(.damaged, "the log's durable subscription \(id) can't be read")
            }
            let object = String(decoding: rows.bytes(4), as: UTF8.self)
            records.append(
                DurableRecord(
                    id: DurableID(id), owner: Identity(uid: rows.integer32(1), gid: 0),
                    name: String(decoding: rows.bytes(2), as: UTF8.self),
                    filter: SubscriptionFilter(patterns: patterns, object: object.isEmpty ? nil : object),
                    progress: DurableProgress(
                        cursor: rows.integer(5), seenThrough: rows.integer(6), acknowledged: acknowledged,
                        isAttached: rows.integer(8) != 0)))
        }
        return records
    }
}
