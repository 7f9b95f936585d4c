import NotifyLog

/// The statements of values.
struct ValueStatements {
    let set, forget: PreparedStatement
    /// Read the row of a number: without the content, with small content only, and whole.
    let readKey, readPage, readOne: PreparedStatement
    /// Read the message of a change: with small content only, and whole.
    let messagePage, message: PreparedStatement
    /// Read rows with small content only, in the order of numbers, and of sequences.
    let byNumber, bySequence: PreparedStatement
    /// Insert and delete the records of changes.
    let record, deleteRecords: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        set = try prepare(ValueRow.set)
        forget = try prepare("DELETE FROM retained WHERE number = ? AND (cleared = 1 OR ?)")
        readKey = try prepare("SELECT \(ValueRow.keyColumns) FROM retained WHERE number = ?")
        readPage = try prepare("SELECT \(ValueRow.pageColumns) FROM retained WHERE number = ?")
        readOne = try prepare("SELECT \(ValueRow.columns) FROM retained WHERE number = ?")
        messagePage = try prepare(ValueRow.messagePage)
        message = try prepare(ValueRow.message)
        byNumber = try prepare(
            "SELECT \(ValueRow.pageColumns) FROM retained WHERE number > ? AND number <= ? ORDER BY number")
        bySequence = try prepare(
            "SELECT \(ValueRow.pageColumns) FROM retained WHERE sequence > ? AND sequence <= ? ORDER BY sequence")
        record = try prepare(ValueChangesRow.insert)
        deleteRecords = try prepare(
            """
            DELETE FROM value_changes
            WHERE batch IN (SELECT batch FROM value_changes WHERE batch <= ? ORDER BY batch LIMIT ?)
            """)
    }

    /// Reads the message of a change as a value, and passes it to `body` with its row; nil if the message is damaged.
    func withMessage<Result>(
        of change: ValueChange, isWhole: Bool, _ body: (ValueRow?, PreparedStatement) throws -> Result
    ) throws -> Result {
        let row = isWhole ? message : messagePage
        defer { row.reset() }
        try ValueRow.bind(change, to: row)
        return try body(row.step() ? ValueRow(ofMessage: row) : nil, row)
    }
}
