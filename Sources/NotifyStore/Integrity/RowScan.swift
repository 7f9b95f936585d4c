import CSQLite
import NotifyLog

/// Reads the rows of a table in the order of their keys, which are not negative.
///
/// Rows that SQLite can't read are skipped on request: the scan continues at the first key from which it can read
/// again.
final class RowScan {
    private let connection: DatabaseConnection
    private let rows: PreparedStatement
    private let isSkipping: Bool
    private var isReading = false
    /// The key of the last row.
    private var position: Int64
    /// The ranges of keys that can't be read. Not all of the keys belong to rows.
    private(set) var unreadable: [ClosedRange<Int64>] = []

    /// - Parameters:
    ///   - columns: The first one is the key.
    ///   - isSkipping: Whether to skip what can't be read.
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

    /// Ends the read transaction, so that others can write. The next call of ``next()`` begins another one.
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

    /// The lowest key above the position with a readable row, if a search finds it: the distance is doubled until a row
    /// can be read, and then bisected.
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
    /// Whether a part of the database can't be read.
    var isUnreadable: Bool { isCorruption || (primaryCode == SQLITE_IOERR && !isFull) }
}
