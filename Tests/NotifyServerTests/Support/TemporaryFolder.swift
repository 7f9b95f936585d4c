import Foundation

/// A folder of a test's own, gone with everything in it when the test ends.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/notifyd-test-XXXXXX\0".utf8CString)
        guard let made = mkdtemp(&template) else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        path = String(cString: made)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of something in the folder.
    func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: self(name)))
        return self(name)
    }
}

/// The permission bits of what is at a path; `nil` if there is nothing.
func permissions(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func exists(_ path: String) -> Bool { permissions(path) != nil }
