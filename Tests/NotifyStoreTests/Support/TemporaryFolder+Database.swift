import Foundation
import TestSupport

extension TemporaryFolder {
    var database: String { file("log.db") }

    /// Copies the database as it is on disk, as a crash at this moment would leave it. A child process reads it:
    /// opening a database's file in this process would end SQLite's locks on it.
    func copyDatabase(to other: TemporaryFolder) throws {
        try copy(database, to: other.database)
        if exists(database + "-wal") { try copy(database + "-wal", to: other.database + "-wal") }
    }

    private func copy(_ source: String, to target: String) throws {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/cp")
        child.arguments = [source, target]
        try child.run()
        child.waitUntilExit()
        guard child.terminationStatus == 0 else { throw CocoaError(.fileReadUnknown) }
    }
}
