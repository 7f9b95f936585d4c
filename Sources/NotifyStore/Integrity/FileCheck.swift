package import NotifyLog
import NotifySystem
import NotifyWire

/// A check of a log's database that no daemon uses. Changes nothing.
package struct FileCheck: Sendable {
    package let path: String
    /// The version of the schema; 0 if it can't be read.
    package let version: Int
    package let findings: LogFindings

    /// Whether SQLite has checked the whole structure of the database. False if the schema can't be read, if it was
    /// altered, because altered definitions would affect the check, or if the check was stopped after too many steps.
    package let hasReadStructure: Bool

    /// Whether the rows were read. The rows of a file of another version are not read.
    package var hasReadRows: Bool { version == Schema.version }

    /// Checks the structure of the database and every row. Reads all of the file.
    ///
    /// - Throws: A `StoreError` if the file can't be checked: it is not a log of notifyd, is in use, or can't be read.
    package static func run(path: String) throws(StoreError) -> FileCheck {
        let path = path.hasPrefix("/") ? path : "./" + path
        let file = try LogFile.open(path)
        defer { file.connection.close() }
        let scan = LogScan(file.connection)
        var hasReadStructure = false
        do {
            hasReadStructure = try check(file, with: scan)
        } catch let failure as SQLiteFailure where failure.isEndless {
            scan.findings.add(.database, "\(failure)")
        } catch {
            throw StoreError(opening: path, error)
        }
        // A daemon that was started meanwhile may have changed the file.
        try LogFile.checkUse(path)
        return FileCheck(
            path: path, version: file.version, findings: scan.findings, hasReadStructure: hasReadStructure)
    }

    /// Compares the schema of a log with the schema of its version, as a start does.
    ///
    /// - Returns: The bytes of the database's pages in use.
    /// - Throws: A `StoreError` if the schema differs, because a daemon would start but store nothing.
    package static func checkSchema(path: String) throws(StoreError) -> UInt64 {
        let file = try LogFile.open(path)
        defer { file.connection.close() }
        do {
            let scan = LogScan(file.connection)
            guard file.version > 0, try scan.readSchema(version: file.version) else {
                let problem = scan.findings.problems.first?.text ?? "the version of the schema can't be read"
                throw StoreError(
                    .damaged,
                    "the database '\(path)' is damaged, and posts to be stored would be refused: \(problem); write what "
                        + "is sound to a new file with: notifyd --repair '\(path)'")
            }
            let pages = try file.connection.integer("PRAGMA page_count")
            let freePages = try file.connection.integer("PRAGMA freelist_count")
            return UInt64(clamping: pages - freePages) * UInt64(Schema.pageSize)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(opening: path, error)
        }
    }

    /// - Returns: Whether SQLite has checked the structure.
    private static func check(_ file: LogFile, with scan: LogScan) throws -> Bool {
        let version = file.version > 0 ? file.version : Schema.version
        let isLog = try scan.readSchema(version: version)
        if isLog { try scan.checkStructure() }
        if file.version == Schema.version {
            var names = NameTable()
            _ = try scan.advance(&names)
        } else if file.version == 0 {
            scan.findings.add(.database, "the version of the schema can't be read")
        }
        return isLog
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
