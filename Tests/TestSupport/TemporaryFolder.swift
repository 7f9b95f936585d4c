package import Foundation

/// A folder for one test, removed with its contents when this object is released.
///
/// The folder's path is short, because the path of a Unix socket is limited to 107 bytes.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/notifyd-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        path = String(cString: made)
    }

    deinit {
        removeSequenceMarks()
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Removes the sequence marks in shared memory that a killed daemon has left. The name of a mark ends with the
    /// device and inode of the database, or of the folder if the database could not be created.
    private func removeSequenceMarks() {
        let sharedMemory = "/dev/shm/"
        let manager = FileManager.default
        let marks = (try? manager.contentsOfDirectory(atPath: sharedMemory))?.filter { $0.hasPrefix("notifyd-") } ?? []
        guard !marks.isEmpty else { return }
        for file in [path] + ((try? manager.contentsOfDirectory(atPath: path)) ?? []).map(file) {
            var status = stat()
            guard stat(file, &status) == 0 else { continue }
            for mark in marks where mark.hasSuffix("-\(status.st_dev)-\(status.st_ino)") { unlink(sharedMemory + mark) }
        }
    }

    /// The path of a file in the folder.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file in the folder.
    ///
    /// - Returns: The path of the file.
    package func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}

/// Returns the permission bits of the file at a path, or nil if there is no file. Does not follow symbolic links.
package func permissions(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

package func exists(_ path: String) -> Bool { permissions(of: path) != nil }
