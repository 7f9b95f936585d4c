import Glibc

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

    /// Whether a file that is not a socket is at the path.
    var isOtherFile: Bool { status.map { $0.st_mode & S_IFMT != S_IFSOCK } ?? false }

    /// The reason why this user may not connect.
    var refusal: String {
        guard let status else { return "uid \(geteuid()) may not enter the directory of the socket \(path)" }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return
            "the socket \(path) belongs to uid \(status.st_uid) and has the mode 0\(mode): uid \(geteuid()) may not connect"
    }
}
