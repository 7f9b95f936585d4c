import NotifyLog
import NotifySystem
import NotifyWire

/// Reads all values in the order of their numbers: each from its row, or from the message of a later change. The values
/// without a row follow at the end.
final class ValueScan {
    struct Element {
        let number: UInt64
        /// Nil if the value is damaged.
        let value: ValueRow?
        /// The row with the content, valid until the next value is read.
        let row: PreparedStatement
        /// The change that is not in the row of the value yet; nil if the row has the value.
        let change: ValueChange?
    }

    let rows: RowScan
    private let message: PreparedStatement
    private let isSkipping: Bool
    /// The changes in the records. Those of the values that were read are removed.
    private var records: RecordedValueChanges
    /// The numbers of the changes in the records, by sequence.
    private let numbers: [UInt64: UInt64]
    /// The open log, whose changes count instead of the records, because they are current; nil for a file.
    private let log: Log?
    /// The changes without a row; nil until all rows are read.
    private var rest: ArraySlice<ValueChange>?
    private let forgottenThrough: UInt64

    /// Reads the values of a database.
    ///
    /// - Parameters:
    ///   - columns: `ValueRow.keyColumns` or `ValueRow.columns`.
    ///   - forgottenThrough: The highest sequence of a deleted mark of a cleared value.
    ///   - isSkipping: Whether to skip unreadable rows.
    convenience init(
        _ connection: DatabaseConnection, _ columns: String, _ records: RecordedValueChanges,
        forgottenThrough: UInt64, isSkipping: Bool
    ) throws {
        try self.init(connection, columns, records, nil, forgottenThrough, isSkipping)
    }

    /// Reads the values of an open log, which may change between the steps.
    convenience init(_ log: Log, isSkipping: Bool) throws {
        try self.init(log.connection, ValueRow.columns, RecordedValueChanges(), log, 0, isSkipping)
    }

    private init(
        _ connection: DatabaseConnection, _ columns: String, _ records: RecordedValueChanges, _ log: Log?,
        _ forgottenThrough: UInt64, _ isSkipping: Bool
    ) throws {
        rows = try RowScan(connection, columns, from: "retained", key: "number", isSkipping: isSkipping)
        let hasContent = columns == ValueRow.columns
        message = try PreparedStatement(connection, hasContent ? ValueRow.message : ValueRow.messageKey)
        self.isSkipping = isSkipping
        self.records = records
        numbers = Dictionary(uniqueKeysWithValues: records.latest.map { ($0.value.sequence, $0.key) })
        self.log = log
        self.forgottenThrough = forgottenThrough
    }

    func next() throws -> Element? {
        message.reset()
        if rest == nil {
            if let row = try rows.next() { return try read(row) }
            // The marks of cleared values that were deleted have no row, but their changes may still be recorded.
            let forgottenThrough = forgottenThrough
            let missing = records.latest.values.filter { !$0.isCleared || $0.sequence > forgottenThrough }
            rest = missing.sorted { $0.number < $1.number }[...]
        }
        return try rest?.popFirst().map(read)
    }

    private func read(_ row: PreparedStatement) throws -> Element {
        let (number, sequence) = (row.integer(0), row.integer(1))
        // In a forged log, a row may have the sequence of another value's change, which could not be written then.
        if let other = numbers[sequence], other != number {
            guard isSkipping else { throw StoreError(.damaged, "two values have the sequence \(sequence)") }
            return Element(number: number, value: nil, row: row, change: nil)
        }
        let stored = ValueRow(row)
        let change =
            if let log { log.values.change(of: number, newerThan: stored?.stamp.sequence) } else {
                records.take(number, newerThan: stored?.stamp.sequence)
            }
        return try change.map(read) ?? Element(number: number, value: stored, row: row, change: nil)
    }

    private func read(_ change: ValueChange) throws -> Element {
        try ValueRow.bind(change, to: message)
        var value: ValueRow?
        do {
            if try message.step() { value = ValueRow(ofMessage: message) }
        } catch {
            guard isSkipping, error.isUnreadable else { throw error }
            message.reset()
        }
        return Element(number: change.number, value: value, row: message, change: change)
    }

    /// Ends the read transaction, so that the database can be written.
    func pause() {
        rows.pause()
        message.reset()
    }
}
