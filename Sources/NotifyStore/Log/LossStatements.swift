import NotifyLog

/// The losses of durable subscriptions.
struct LossStatements {
    private let read, insert, remove: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        read = try PreparedStatement(
            connection, "SELECT first, last, count, is_upper_bound, crc FROM losses WHERE subscription = ?")
        insert = try PreparedStatement(connection, "INSERT OR REPLACE INTO losses VALUES (?, ?, ?, ?, ?, ?)")
        remove = try PreparedStatement(connection, "DELETE FROM losses WHERE subscription = ?")
    }

    func add(_ loss: Loss, of id: DurableID) throws {
        let id = UInt64(id.rawValue)
        var total = loss
        if let earlier = try readLoss(of: id) { total.add(earlier) }
        try write(total, of: id)
    }

    /// Subtracts `loss` from the loss of a subscription, or removes the whole loss if `loss` is nil.
    func forget(_ loss: Loss? = nil, of id: DurableID) throws {
        let row = UInt64(id.rawValue)
        if let loss, let rest = try readLoss(of: row)?.without(loss) { return try write(rest, of: row) }
        try remove.bind(1, id.rawValue)
        try remove.run()
    }

    private func write(_ total: Loss, of id: UInt64) throws {
        try insert.bind(1, id)
        try insert.bind(2, total.first)
        try insert.bind(3, total.last)
        try insert.bind(4, total.count)
        try insert.bind(5, Int64(total.isUpperBound ? 1 : 0))
        try insert.bind(6, SubscriptionChecksums.ofLoss(total, id: id))
        try insert.run()
    }

    private func readLoss(of id: UInt64) throws -> Loss? {
        let row = read
        defer { row.reset() }
        try row.bind(1, id)
        guard try row.step() else { return nil }
        let loss = Loss(
            first: row.integer(0), last: row.integer(1), count: row.integer(2), isUpperBound: row.integer(3) != 0)
        guard SubscriptionChecksums.ofLoss(loss, id: id) == row.integer32(4) else {
            throw StorageFailure(kind: .damaged, message: "the losses of the durable subscription \(id) are damaged")
        }
        return loss
    }
}
