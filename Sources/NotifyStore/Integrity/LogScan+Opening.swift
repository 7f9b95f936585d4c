import NotifyLog
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
}
