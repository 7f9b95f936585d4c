import Foundation

/// A folder of its own for a test, removed with the object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("notifystore-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var database: String { file("log.db") }

    func file(_ name: String) -> String { path + "/" + name }

    /// Copies a database as it lies on the disk, as a crash at this moment would leave it. A child does the reading:
    /// opening a database's file in this process would end SQLite's locks on it.
    func copyDatabase(to other: TemporaryFolder) throws {
        try copy(database, to: other.database)
        if FileManager.default.fileExists(atPath: database + "-wal") {
            try copy(database + "-wal", to: other.database + "-wal")
        }
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

/// The permission bits of a file.
func mode(of path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
}
