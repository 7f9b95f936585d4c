import NotifyLog
import NotifySystem
import NotifyWire

/// A row of the database with the changes of values that a batch has made. The rows of the values may not have them yet.
struct ValueChangesRow {
    /// The columns of a row, in the order in which `init` reads them.
    ///
    /// - `batch`: the sequence of the last change
    /// - `changes`: the changes, encoded
    static let columns = "batch, changes, crc"
    static let insert = "INSERT INTO value_changes (batch, changes, crc) VALUES (?, ?, ?)"

    /// The changes, at least one, in ascending order of sequence.
    let changes: [ValueChange]

    /// - Parameter changes: At least one change, in ascending order of sequence.
    init(_ changes: [ValueChange]) {
        self.changes = changes
    }

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged.
    init?(_ row: PreparedStatement) {
        let (batch, bytes) = (row.integer(0), row.bytes(1))
        guard row.integer(2) == UInt64(Self.checksum(batch, bytes)), let changes = Self.decode(bytes),
            changes.last?.sequence == batch
        else { return nil }
        self.changes = changes
    }

    /// Inserts the row.
    ///
    /// - Parameter insert: A statement of ``insert``.
    func write(with insert: PreparedStatement) throws {
        let batch = changes.last?.sequence ?? 0
        try Self.encode(changes).withUnsafeBytes { bytes in
            defer { insert.clearBindings() }
            try insert.bind(1, batch)
            try insert.bindBlob(2, bytes)
            try insert.bind(3, Self.checksum(batch, bytes))
            try insert.run()
        }
    }

    private static func checksum(_ batch: UInt64, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.add(batch)
        checksum.add(bytes)
        return checksum.value
    }

    /// Encodes each change as two varints: the distance of its sequence from the one before, and the number of its value
    /// combined with whether it clears the value.
    private static func encode(_ changes: [ValueChange]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(changes.count * 5 + 8)
        var sequence: UInt64 = 0
        for change in changes {
            Varint.append(change.sequence - sequence, to: &bytes)
            Varint.append(change.number << 1 | (change.isCleared ? 1 : 0), to: &bytes)
            sequence = change.sequence
        }
        return bytes
    }

    /// Decodes changes. Returns nil if the bytes are malformed, or contain numbers that no log has.
    private static func decode(_ bytes: UnsafeRawBufferPointer) -> [ValueChange]? {
        let possible = 1..<Limits.sequenceEnd
        var reader = Varint.Reader(bytes)
        var changes: [ValueChange] = []
        var sequence: UInt64 = 0
        while !reader.isAtEnd {
            guard let distance = reader.next(), possible.contains(distance), let value = reader.next(),
                possible.contains(sequence + distance), possible.contains(value >> 1)
            else { return nil }
            sequence += distance
            changes.append(ValueChange(sequence: sequence, number: value >> 1, isCleared: value & 1 == 1))
        }
        return changes
    }
}

/// The recorded changes of values in a database.
struct RecordedValueChanges {
    /// The last change of each number.
    private(set) var latest: [UInt64: ValueChange] = [:]
    /// The number of all changes.
    private(set) var count = 0
    /// The sequence of the last change; 0 if there is none.
    private(set) var last: UInt64 = 0

    init() {}

    /// Reads all changes.
    ///
    /// A damaged row could hide that a value was changed, so it is an error. A damaged page could hide rows, so SQLite
    /// checks the structure of the table.
    ///
    /// - Throws: A `StoreError` if a row is damaged.
    init(_ connection: DatabaseConnection) throws {
        let structure = try connection.text("PRAGMA quick_check(value_changes)")
        guard structure == "ok" else {
            throw StoreError(.damaged, "the records of changed values are damaged: \(structure)")
        }
        let rows = try PreparedStatement(
            connection, "SELECT \(ValueChangesRow.columns) FROM value_changes ORDER BY batch")
        while try rows.step() {
            guard let row = ValueChangesRow(rows), let first = row.changes.first, first.sequence > last else {
                throw StoreError(.damaged, "the record of changed values with the number \(rows.integer(0)) is damaged")
            }
            for change in row.changes { latest[change.number] = change }
            count += row.changes.count
            last = row.changes.last?.sequence ?? last
        }
    }

    /// Removes the change of a number, if the row of the value does not have it yet.
    ///
    /// - Parameter stored: The sequence in the row of the value; nil if there is no row, or if it is damaged.
    mutating func take(_ number: UInt64, newerThan stored: UInt64?) -> ValueChange? {
        guard let change = latest.removeValue(forKey: number) else { return nil }
        if let stored, stored >= change.sequence { return nil }
        return change
    }
}
