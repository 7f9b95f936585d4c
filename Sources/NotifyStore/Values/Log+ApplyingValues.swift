import Algorithms
import HeapModule
import NotifyLog

/// A pass that writes changed values to their rows, in the order of their numbers, so that it changes each page of the
/// table once.
struct ValuePass {
    /// The numbers that are left. A heap, because sorting all numbers at once would take too long.
    fileprivate var numbers: Heap<UInt64>
    /// The last change that was recorded when the pass began.
    fileprivate let lastRecorded: UInt64
}

extension Log {
    /// The most values, and bytes of values, that one transaction writes.
    private static let valuesPerTransaction = 1_024
    private static let bytesPerTransaction = 1 << 20
    /// The most records that one transaction deletes.
    private static let recordsPerTransaction = 4_096

    /// Whether so many changes are recorded, or so many values have a change in memory, that a pass must begin.
    var areValuesDue: Bool {
        values.recorded >= options.valueChangesPerPass
            || min(values.recorded, values.count) >= options.changedValuesPerPass
    }

    /// Whether a pass must begin because of the time since the first change that is recorded.
    var areValuesOld: Bool { values.recorded > 0 && clock.now - values.firstRecorded >= options.valuePassDelay }

    /// The bytes to reserve for values that are not in their rows: twice their sizes, because pages may be half full.
    var unappliedBytes: UInt64 { UInt64(2 * values.bytes) }

    func beginValuePass() -> ValuePass {
        values.passBegins()
        return ValuePass(numbers: Heap(values.numbers), lastRecorded: values.lastRecorded)
    }

    /// Performs the next step of a pass.
    ///
    /// - Returns: Whether steps remain.
    func continueValuePass(_ pass: inout ValuePass) throws -> Bool {
        var changes: [UnappliedValues.Change] = []
        var bytes = 0
        while changes.count < Self.valuesPerTransaction, bytes < Self.bytesPerTransaction,
            let number = pass.numbers.popMin()
        {
            guard let change = values.change(of: number) else { continue }
            changes.append(change)
            bytes += change.bytes
        }
        guard changes.isEmpty else {
            try apply(changes)
            return true
        }
        defer { disk.checkpointIfDue() }
        return try deleteRecords(pass)
    }

    /// Performs a pass until a time, because space is reserved for values that are not in their rows.
    func applyValues(until end: ContinuousClock.Instant) throws {
        guard !values.isEmpty else { return }
        var pass = beginValuePass()
        values.passFailed(at: clock.now)
        while ContinuousClock.now < end, try continueValuePass(&pass) {}
    }

    /// Writes changed values to their rows before their messages are deleted, in transactions of their own.
    func applyValues(of sequences: ClosedRange<UInt64>) throws {
        guard !values.isEmpty else { return }
        let changes = values.changes(in: sequences).sorted { $0.change.number < $1.change.number }
        for chunk in changes.chunks(ofCount: Self.valuesPerTransaction) {
            try apply(Array(chunk))
        }
    }

    private func apply(_ changes: [UnappliedValues.Change]) throws {
        try inTransaction(.normal) { statements in
            for change in changes { try apply(change.change, statements.values) }
        }
        values.applied(changes)
        disk.checkpointIfDue()
    }

    private func deleteRecords(_ pass: ValuePass) throws -> Bool {
        var deleted = 0
        try inTransaction(.normal) { statements in
            try statements.values.deleteRecords.bind(1, pass.lastRecorded)
            try statements.values.deleteRecords.bind(2, Int64(Self.recordsPerTransaction))
            try statements.values.deleteRecords.run()
            deleted = connection.changedRows
        }
        return deleted == Self.recordsPerTransaction
    }

    /// Writes a changed value to its row, in the transaction under way.
    private func apply(_ change: ValueChange, _ statements: ValueStatements) throws {
        try statements.withMessage(of: change, isWhole: true) { value, row in
            if let value { return try value.copy(row, with: statements.set) }
            if try !hasRow(change, statements) { try ValueRow.setDamaged(change, with: statements.set) }
        }
    }

    /// Whether the row of a value has a change already.
    private func hasRow(_ change: ValueChange, _ statements: ValueStatements) throws -> Bool {
        defer { statements.readKey.reset() }
        try statements.readKey.bind(1, change.number)
        return try statements.readKey.step() && statements.readKey.integer(1) >= change.sequence
    }

    /// Writes changed values to their rows before their messages are deleted, in the transaction under way.
    func applyValues(of sequences: ClosedRange<UInt64>, _ statements: Statements) throws {
        guard !values.isEmpty else { return }
        for change in values.changes(in: sequences) { try apply(change.change, statements.values) }
    }
}
