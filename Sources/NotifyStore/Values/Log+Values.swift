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
        var (indices, replaced): ([ValueKey: Int], [Int]) = ([:], [])
        stored.forgottenThrough = database.state.forgottenThrough
        while try rows.step() {
            // A damaged row may have a number that was never assigned.
            if rows.integer(0) < Limits.sequenceEnd { stored.lastNumber = max(stored.lastNumber, rows.integer(0)) }
            guard let value = ValueRow(rows)?.value else {
                damaged += 1
                continue
            }
            last = max(last, value.sequence)
            // A batch that was reported as failed may have left a second row.
            if let index = indices[value.key] {
                if stored.values[index].sequence > value.sequence { continue }
                replaced.append(index)
            }
            indices[value.key] = stored.values.count
            stored.values.append(value)
        }
        for index in replaced.sorted().reversed() { stored.values.remove(at: index) }
        return (stored, last, damaged)
    }

    /// Copies the values of another log. Unreadable and damaged ones are left out.
    ///
    /// - Returns: Whether all values and marks were copied.
    func takeValues(of old: Log) throws -> Bool {
        guard
            let rows = try? RowScan(old.connection, ValueRow.columns, from: "retained", key: "number", isSkipping: true)
        else { return false }
        var (isComplete, isAtEnd) = (true, false)
        while !isAtEnd {
            try inTransaction(.normal) { statements in
                var bytes: UInt64 = 0
                while bytes < 1 << 20 {
                    let row: PreparedStatement?
                    do { row = try rows.next() } catch { (row, isComplete) = (nil, false) }
                    guard let row else {
                        isAtEnd = true
                        return
                    }
                    guard let value = ValueRow(row), value.isContentSound(row) else {
                        isComplete = false
                        continue
                    }
                    try value.copy(row, with: statements.values.set)
                    bytes += value.payloadLength + 512
                }
            }
            disk.checkpointIfDue()
        }
        let negative = try? old.connection.integer(ValueRow.negativeCount)
        return isComplete && rows.unreadable.isEmpty && negative == 0
    }
}
