import Glibc
import NotifySystem

/// The file at the path of a socket.
struct SocketFile {
    private let path: String
    private let status: stat?

    init(_ path: String) {
        self.path = path
        var status = stat()
        self.status = stat(path, &status) == 0 ? status : nil
    }

    var exists: Bool { status != nil }

    /// Whether the path has a file that is not a socket.
    var isOtherFile: Bool { status.map { $0.st_mode & S_IFMT != S_IFSOCK } ?? false }

    /// The finding that the mode of the socket, or of a directory above it, does not let this user connect.
    var refusal: Finding {
        if let status {
            return Finding(
                problem: "the socket \(path) \(Self.describe(status)): uid \(geteuid()) may not connect",
                repair: "run notifyctl as that user, or set socket_mode: \"0666\" in the daemon's configuration")
        }
        var closed = stat()
        guard let directory = Self.outermostDirectory(above: path, where: Self.isClosed), stat(directory, &closed) == 0
        else { return Finding(problem: "uid \(geteuid()) is not allowed to connect to \(path)", repair: nil) }
        return Self.refusal(byDirectory: directory, closed, of: path, to: geteuid())
    }

    /// The finding that a user may not search a directory above a socket.
    static func refusal(byDirectory directory: String, _ status: stat, of path: String, to uid: UInt32) -> Finding {
        Finding(
            problem:
                "the directory \(directory) of the socket \(path) \(describe(status)): uid \(uid) may not search it",
            repair: status.st_uid == uid
                ? "run chmod u+x '\(directory)'"
                : "run notifyctl as uid \(status.st_uid), or have that user run chmod a+x '\(directory)'")
    }

    /// Of the directories above a path that satisfy the condition, the outermost one; nil if none does.
    static func outermostDirectory(above path: String, where condition: (String) -> Bool) -> String? {
        var directories = [AccessProblem.directory(of: path)]
        while let last = directories.last, last != "/", last != "." {
            directories.append(AccessProblem.directory(of: last))
        }
        return directories.last(where: condition)
    }

    private static func isClosed(_ directory: String) -> Bool {
        faccessat(AT_FDCWD, directory, X_OK, AT_EACCESS) != 0 && errno == EACCES
    }

    private static func describe(_ status: stat) -> String {
        "belongs to uid \(status.st_uid) and has the mode 0\(String(status.st_mode & 0o7777, radix: 8))"
    }
}
