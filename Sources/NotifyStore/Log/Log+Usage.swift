import NotifyLog

/// The usage of each user: the number and bytes of the user's messages in the log.
///
/// The table `usage` covers the messages of closed segments. It changes only together with a row of `segments`, so a
/// commit within a segment writes no additional page. The usage of the open segment is kept in memory. Recovery
/// computes it from the messages of that segment, which recovery reads anyway.
extension Log {
    /// Adds to the usage in the database. Must be called in the transaction that adds the messages to closed segments.
    /// A transaction that removes messages of closed segments adds negative values.
    func addUsage(_ usage: [UInt32: StoredUsage], _ statements: Statements) throws(SQLiteFailure) {
        for (uid, usage) in usage {
            try statements.addUsage.bind(1, uid)
            try statements.addUsage.bind(2, Int64(usage.messages))
            try statements.addUsage.bind(3, Int64(usage.bytes))
            try statements.addUsage.run()
        }
        if usage.values.contains(where: { $0.messages < 0 }) {
            try connection.execute("DELETE FROM usage WHERE messages = 0")
        }
    }

    /// The usage of all messages. Must be called after the open segment is read.
    func readUsage() throws -> [UInt32: StoredUsage] {
        var usage = openSegment.usage.byUser
        let rows = try PreparedStatement(connection, "SELECT uid, messages, bytes FROM usage")
        while try rows.step() {
            let stored = StoredUsage(messages: Int(rows.integer(1)), bytes: Int(rows.integer(2)))
            usage[rows.integer32(0), default: StoredUsage()] += stored
        }
        return usage
    }
}
