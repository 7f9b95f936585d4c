import Glibc
import SystemPackage

/// The lock file beside a daemon's socket. A daemon holds the lock if it has opened the socket itself, and did not get
/// it from systemd.
enum SocketLock {
    /// The process that holds the lock of a socket; nil if none does, or if this user may not read the file. Also nil
    /// if another user could have written any number to the file: the file belongs neither to root nor to this user, or
    /// has several hard links. Changes nothing.
    static func holder(ofSocket path: String) -> Int32? {
        // Non-blocking: if the file is a named pipe, opening it would wait for a writer.
        guard
            let file = try? FileDescriptor.open(
                FilePath(path + ".lock"), .readOnly, options: [.closeOnExec, .noFollow, .nonBlocking])
        else { return nil }
        // Closing the file releases the lock.
        defer { try? file.close() }
        var status = stat()
        guard fstat(file.rawValue, &status) == 0, [0, geteuid()].contains(status.st_uid), status.st_nlink == 1 else {
            return nil
        }
        guard flock(file.rawValue, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        var text = [UInt8](repeating: 0, count: 20)
        let count = (try? text.withUnsafeMutableBytes { try file.read(into: $0) }) ?? 0
        return Int32(String(decoding: text[..<count], as: UTF8.self).prefix { $0.isASCII && $0.isNumber })
    }
}
