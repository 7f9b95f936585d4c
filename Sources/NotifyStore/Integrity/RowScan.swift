import CSQLite
import NotifyLog

/// Reads the rows of a table in the order of their keys. Keys are not negative.
///
/// On request, rows that SQLite can't read are skipped: the scan continues at the next readable row that it finds.
final class RowScan {
    private let connection: DatabaseConnection
    private let rows: PreparedStatement
    private let isSkipping: Bool
    private var isReading = false
    /// The key of the last row.
    private var position: Int64
    /// The ranges of keys that can't be read. Some of these keys may belong to no row.
    private(set) var unreadable: [ClosedRange<Int64>] = []

    /// - Parameters:
    ///   - columns: The columns to read. The first one must be the key.
    ///   - isSkipping: Whether to skip unreadable rows.
    init(
        _ connection: DatabaseConnection, _ columns: String, from table: String, key: String,
        after position: Int64 = -1,
        isSkipping: Bool
    ) throws(SQLiteFailure) {
        self.connection = connection
        self.position = position
        self.isSkipping = isSkipping
        rows = try PreparedStatement(
            connection, "SELECT \(columns) FROM \(table) WHERE \(key) > ? ORDER BY \(key)")
    }

    /// The next row, valid until the next call; nil at the end.
    func next() throws -> PreparedStatement? {
        while true {
            do {
                guard try step() else {
                    pause()
                    return nil
                }
                let key = Int64(bitPattern: rows.integer(0))
                if key > position {
                    position = key
                    return rows
                }
                guard isSkipping else { throw StorageFailure(kind: .damaged, message: "keys are out of order") }
            } catch let failure as SQLiteFailure where isSkipping && failure.isUnreadable {
            }
            pause()
            guard let next = try firstReadable() else {
                unreadable.append(position + 1 ... .max)
                return nil
            }
            if next > position + 1 { unreadable.append(position + 1...next - 1) }
            position = next - 1
        }
    }

    /// Ends the read transaction, so that the database can be written. The next call of ``next()`` begins another one.
    func pause() {
        rows.reset()
        isReading = false
    }

    private func step() throws -> Bool {
        if !isReading {
            try rows.bind(1, position)
            isReading = true
        }
        return try rows.step()
    }

    /// Searches for a key above the position from which rows can be read: doubles the distance until a row can be read,
    /// and then bisects the distance. May miss readable rows between unreadable ones. Nil if no such key is found.
    private func firstReadable() throws -> Int64? {
        var low = position
        var distance: Int64 = 1
        var high: Int64
        repeat {
            let (key, isBeyond) = position.addingReportingOverflow(distance)
            guard !isBeyond, distance < .max / 2 else { return nil }
            high = key
            distance *= 2
            if try isReadable(from: high) { break }
            low = high
        } while true
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if try isReadable(from: middle) { high = middle } else { low = middle }
        }
        return high
    }

    private func isReadable(from key: Int64) throws -> Bool {
        defer { rows.reset() }
        try rows.bind(1, key - 1)
        do {
            return try !rows.step() || Int64(bitPattern: rows.integer(0)) >= key
        } catch {
            guard error.isUnreadable else { throw error }
            return false
        }
    }
}

extension SQLiteFailure {
    /// Whether the failure means that a part of the database can't be read.
    var isUnreadable: Bool { isCorruption || (primaryCode == SQLITE_IOERR && !isFull) }
}
