package import NotifyLog
import NotifyWire

/// The check of a log's database that no daemon uses. Changes nothing.
package struct FileCheck: Sendable {
    package let path: String
    /// The version of the schema; 0 if it can't be read.
    package let version: Int
    package let findings: LogFindings

    /// Whether the rows were read. Those of an earlier version are not.
    package var hasReadRows: Bool { version == Schema.version }

    /// Checks the structure of the database and every row. Reads all of the file.
    ///
    /// - Throws: A `StoreError` if the file can't be checked: it is not a log of notifyd, is in use, or can't be read.
    package static func run(path: String) throws(StoreError) -> FileCheck {
        let path = path.hasPrefix("/") ? path : "./" + path
        let file = try LogFile.open(path)
        defer { file.connection.close() }
        let scan = LogScan(file.connection, .file)
        do {
            try check(file, with: scan)
        } catch let failure as SQLiteFailure where failure.isEndless {
            scan.findings.add(.database, "\(failure)")
        } catch {
            throw StoreError(opening: path, error)
        }
        // A daemon that has started meanwhile may have changed what was read.
        try LogFile.checkUse(path)
        return FileCheck(path: path, version: file.version, findings: scan.findings)
    }

    private static func check(_ file: LogFile, with scan: LogScan) throws {
        let version = file.version > 0 ? file.version : Schema.version
        // Other definitions than those of a log would decide what SQLite does in its check.
        if try scan.readSchema(version: version) { try scan.checkStructure() }
        if file.version == Schema.version {
            var names = NameTable()
            _ = try scan.advance(&names)
        } else if file.version == 0 {
            scan.findings.add(.database, "the version of the schema can't be read")
        }
    }
}

extension LogScan {
    /// The most problems of the structure that are reported.
    private static let maximumProblems = 100

    /// Lets SQLite check the structure of the database.
    fileprivate func checkStructure() throws(SQLiteFailure) {
        do throws(SQLiteFailure) {
            let problems = try PreparedStatement(connection, "PRAGMA integrity_check(\(Self.maximumProblems))")
            while try problems.step() {
                // The first line of several is a heading.
                let lines = problems.text(0).split(separator: "\n").filter { !$0.hasPrefix("***") }
                for line in lines where line != "ok" { findings.add(.database, "SQLite: \(line)") }
            }
        } catch {
            guard !error.isEndless else { throw error }
            findings.add(.database, "SQLite: \(error)")
        }
    }
}
