import NotifyLog
import NotifyWire

/// Values: the last retained message of each name and object, which the retention does not delete.
extension Log {
    /// Deletes marks of cleared values.
    func forget(_ forgotten: ForgottenValues, _ statements: Statements) throws {
        guard !forgotten.numbers.isEmpty else { return }
        for number in forgotten.numbers {
            try statements.values.forget.bind(1, number)
            // The row may have the value as it was before it was cleared.
            let isCleared = values.change(of: number)?.change.isCleared ?? false
            try statements.values.forget.bind(2, Int64(isCleared ? 1 : 0))
            try statements.values.forget.run()
        }
        try database.changeState(statements) { $0.forgottenThrough = max($0.forgottenThrough, forgotten.through) }
    }

    /// Reads the values when the log is opened.
    ///
    /// - Returns: The values, the highest of their sequences, and the number of damaged ones, which are left out.
    func readStoredValues() throws -> (values: StoredValues, last: UInt64, damaged: Int) {
        var (stored, last, damaged) = (StoredValues(), UInt64(0), 0)
        var (indices, replaced): ([ValueKey: Int], [Int]) = ([:], [])
        var unapplied: [UnappliedValues.Change] = []
        stored.forgottenThrough = database.state.forgottenThrough
        let records = try RecordedValueChanges(connection)
        // No later change may have a sequence up to that of a record, even if its message is missing.
        last = records.last
        let scan = try ValueScan(
            connection, ValueRow.keyColumns, records, forgottenThrough: stored.forgottenThrough, isSkipping: false)
        while let next = try scan.next() {
            // A damaged row may have a number that was never assigned.
            if ValueRow.possibleNumbers.contains(next.number) {
                stored.lastNumber = max(stored.lastNumber, next.number)
            }
            if let change = next.change {
                unapplied.append(UnappliedValues.Change(change: change, bytes: next.value?.value.bytes ?? 0))
            }
            guard let row = next.value else {
                damaged += 1
                continue
            }
            let value = row.value
            last = max(last, value.sequence)
            // A forged log may have two values with one key.
            if let index = indices[value.key] {
                if stored.values[index].sequence > value.sequence { continue }
                replaced.append(index)
            }
            indices[value.key] = stored.values.count
            stored.values.append(value)
        }
        for index in replaced.sorted().reversed() { stored.values.remove(at: index) }
        // The values without rows come last.
        stored.values.sort { $0.number < $1.number }
        damaged += Int(try connection.integer(ValueRow.negativeCount))
        values.recovered(unapplied, recorded: records.count, last: records.last, at: clock.now)
        values.noteRows(through: stored.lastNumber)
        return (stored, last, damaged)
    }

    /// Copies the values of another log. Unreadable and damaged ones are left out.
    ///
    /// - Returns: Whether all values and marks were copied.
    func takeValues(of old: Log) throws -> Bool {
        guard let scan = try? ValueScan(old, isSkipping: true) else { return false }
        var (isComplete, isAtEnd) = (true, false)
        while !isAtEnd {
            try inTransaction(.normal) { statements in
                var bytes: UInt64 = 0
                while bytes < 1 << 20 {
                    let next: ValueScan.Element?
                    do { next = try scan.next() } catch { (next, isComplete) = (nil, false) }
                    guard let next else {
                        isAtEnd = true
                        return
                    }
                    guard let value = next.value, value.isContentSound(next.row) else {
                        isComplete = false
                        continue
                    }
                    try value.copy(next.row, with: statements.values.set)
                    bytes += value.payloadLength + 512
                }
            }
            disk.checkpointIfDue()
        }
        let negative = try? old.connection.integer(ValueRow.negativeCount)
        return isComplete && scan.rows.unreadable.isEmpty && negative == 0
    }
}
