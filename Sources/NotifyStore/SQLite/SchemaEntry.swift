/// A row of a database's schema, which defines a table, an index, a view or a trigger.
struct SchemaEntry: Hashable {
    let type: String
    let name: String
    let table: String
    /// The text of the statement that created the entry; empty for the index of a constraint.
    let text: String

    /// A description for a message. The file may contain any name.
    var title: String {
        let isOfTable = table.isEmpty || table == name
        return "\(Self.shown(type)) '\(Self.shown(name))'\(isOfTable ? "" : " of '\(Self.shown(table))'")"
    }

    private static func shown(_ text: String) -> String {
        String(text.unicodeScalars.prefix(64).map { (0x20..<0x7F).contains($0.value) ? Character($0) : "?" })
    }
}

extension DatabaseConnection {
    /// Reads the schema, without the tables that SQLite itself may add to a database.
    func schemaEntries() throws(SQLiteFailure) -> [SchemaEntry] {
        let rows = try PreparedStatement(self, "SELECT type, name, tbl_name, sql FROM sqlite_master")
        var entries: [SchemaEntry] = []
        while try rows.step() {
            let entry = SchemaEntry(type: rows.text(0), name: rows.text(1), table: rows.text(2), text: rows.text(3))
            if !Self.ownEntries.contains(entry) { entries.append(entry) }
        }
        return entries
    }

    /// The tables that SQLite itself may add to a database. The indexes that SQLite creates are not among them, because
    /// they belong to the definition of a table.
    private static let ownEntries: Set<SchemaEntry> = [
        own("sqlite_sequence", "name,seq"), own("sqlite_stat1", "tbl,idx,stat"),
        own("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"),
    ]

    private static func own(_ name: String, _ columns: String) -> SchemaEntry {
        SchemaEntry(type: "table", name: name, table: name, text: "CREATE TABLE \(name)(\(columns))")
    }
}
