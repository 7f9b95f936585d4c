import Foundation

/// A folder that goes with its owner. Its path is short, because sockets lie in it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/notifyd-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw SystemFailure("mkdtemp") }
        path = String(cString: made)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { path + "/" + name }
}

/// A system call that failed, with `errno` as it was then.
struct SystemFailure: Error, CustomStringConvertible {
    var description: String

    init(_ call: String, code: Int32 = errno) {
        description = "\(call): \(String(cString: strerror(code)))"
    }
}
