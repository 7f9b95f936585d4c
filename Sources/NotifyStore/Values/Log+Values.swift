import NotifyLog
import NotifyWire

/// Values: the last retained message of each name and object, which the retention does not delete.
extension Log {
    /// Deletes marks of cleared values.
    func forget(_ forgotten: ForgottenValues, _ statements: Statements) throws {
        guard !forgotten.numbers.isEmpty else { return }
        for number in forgotten.numbers {
            try statements.values.forget.bind(1, number)
            try statements.values.forget.run()
        }
        try database.changeState(statements) { $0.forgottenThrough = max($0.forgottenThrough, forgotten.through) }
    }

    /// Reads the values when the log is opened.
    ///
    /// - Returns: The values, the highest of their sequences, and the number of damaged rows, which are left out.
    func readStoredValues() throws -> (values: StoredValues, last: UInt64, damaged: Int) {
        let rows = try PreparedStatement(connection, "SELECT \(ValueRow.keyColumns) FROM retained ORDER BY number")
        var (stored, last, damaged) = (StoredValues(), UInt64(0), 0)
        var indices: [ValueKey: Int] = [:]
        stored.forgottenThrough = database.state.forgottenThrough
        while try rows.step() {
            stored.lastNumber = max(stored.lastNumber, min(rows.integer(0), UInt64(Int64.max) - 1))
            guard let value = ValueRow(rows)?.value else {
                damaged += 1
                continue
            }
            last = max(last, value.sequence)
            // A batch that was reported as failed may have left a second row.
            if let index = indices[value.key] {
                if stored.values[index].sequence < value.sequence { stored.values[index] = value }
            } else {
                indices[value.key] = stored.values.count
                stored.values.append(value)
            }
        }
        return (stored, last, damaged)
    }

    /// Copies the values of another log. Unreadable and damaged ones are left out.
    ///
    /// - Returns: The number of values.
    func takeValues(of old: Log) throws -> Int {
        guard
            let rows = try? RowScan(old.connection, ValueRow.columns, from: "retained", key: "number", isSkipping: true)
        else { return 0 }
        var (count, isAtEnd) = (0, false)
        while !isAtEnd {
            try inTransaction(.normal) { statements in
                var bytes: UInt64 = 0
                while bytes < 1 << 20 {
                    guard let row = try? rows.next() else {
                        isAtEnd = true
                        return
                    }
                    guard let value = ValueRow(row), value.isContentSound(row) else { continue }
                    try value.copy(row, with: statements.values.set)
                    count += value.isCleared ? 0 : 1
                    bytes += value.payloadLength + 512
                }
            }
            disk.checkpointIfDue()
        }
        return count
    }
}
