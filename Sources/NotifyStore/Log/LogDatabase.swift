import NotifyLog

/// The open database of a log: its connection, its prepared statements, and the row of the log's state.
struct LogDatabase: ~Copyable {
    /// SQLite's `synchronous` level: with `full`, a commit is flushed to disk before it returns.
    enum Synchronous: String {
        case normal = "NORMAL"
        case full = "FULL"
    }

    let connection: DatabaseConnection
    /// Nil once the log is closed: SQLite closes the files only after every statement is finalized.
    private var statements: Statements?
    private var synchronous: Synchronous?
    /// The row of the log's state, as in the database.
    private(set) var state = StateRow()
    /// The damage of the database's content that a request has found. The log stores nothing after that.
    private(set) var corruption: StorageFailure?

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        self.connection = connection
        // The temporary table holds the messages of a segment while they are moved.
        try connection.execute(
            "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE taken AS SELECT * FROM messages LIMIT 0")
        statements = try Statements(connection)
    }

    func openStatements() throws(StorageFailure) -> Statements {
        guard let statements else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        return statements
    }

    mutating func finalizeStatements() { statements = nil }

    /// Sets SQLite's `synchronous` level. Must be called outside of transactions.
    mutating func set(_ level: Synchronous) throws(SQLiteFailure) {
        guard synchronous != level else { return }
        synchronous = nil
        try connection.execute("PRAGMA synchronous = \(level.rawValue)")
        synchronous = level
    }

    /// Reads the state of the log, which is then kept in memory.
    mutating func readState() throws {
        state = try StateRow(in: connection)
    }

    /// Changes the state of the log, in memory and in the database.
    mutating func changeState(_ statements: Statements, _ change: (inout StateRow) -> Void) throws {
        change(&state)
        try state.write(with: statements.writeState)
    }

    /// Restores the state in memory as it was before a transaction that was rolled back.
    mutating func restore(_ earlier: StateRow) { state = earlier }

    /// Notes damage of the content.
    ///
    /// - Returns: The damage that was noted first.
    mutating func note(_ failure: StorageFailure) -> StorageFailure {
        let noted = corruption ?? failure
        corruption = noted
        return noted
    }
}
