import NotifyLog
import NotifySystem
import NotifyWire

extension LogScan {
    /// Opens a table. In a file, a table that can't be opened is reported, and counts as empty.
    ///
    /// - Parameter isSkipping: Whether to skip unreadable rows. The default is true for a file, and false for the open
    ///   log.
    func open(
        _ columns: String, from table: String, key: String, isSkipping: Bool? = nil
    ) throws -> RowScan? {
        let name = String(table.prefix { $0 != " " })
        guard target == .openLog || tables.contains(name) else {
            findings.add(.database, "the table \(name) can't be read: its columns are not those of a log")
            return nil
        }
        do {
            return try RowScan(connection, columns, from: table, key: key, isSkipping: isSkipping ?? (target == .file))
        } catch {
            guard target == .file, !error.isEndless else { throw error }
            findings.add(.database, "the table \(table) can't be read: \(error)")
            return nil
        }
    }

    /// Opens the values. In a file, what can't be read is reported, and counts as empty.
    func openValues() throws -> ValueScan? {
        guard try open(ValueRow.columns, from: "retained", key: "number") != nil else {
            areValuesDamaged = true
            return nil
        }
        if let count = try? connection.integer(ValueRow.negativeCount), count > 0 {
            areValuesDamaged = true
            findings.add(.value, "the numbers of \(count) values are negative")
        }
        if let log { return try ValueScan(log, isSkipping: false) }
        do {
            return try ValueScan(
                connection, ValueRow.columns, readChanges(), forgottenThrough: state?.forgottenThrough ?? 0,
                isSkipping: true)
        } catch let failure as SQLiteFailure where !failure.isEndless {
            areValuesDamaged = true
            findings.add(.database, "values can't be read: \(failure)")
            return nil
        }
    }

    private func readChanges() throws -> RecordedValueChanges {
        let problem: any Error
        do {
            guard tables.contains("value_changes") else {
                throw StoreError(.damaged, "the table value_changes can't be read")
            }
            return try RecordedValueChanges(connection)
        } catch let error as StoreError {
            problem = error
        } catch let failure as SQLiteFailure where failure.isUnreadable {
            problem = failure
        }
        areValuesDamaged = true
        findings.add(.value, "\(problem): values that were changed last may have earlier contents")
        return RecordedValueChanges()
    }
}
