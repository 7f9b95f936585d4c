import Glibc

extension NotifyClient {
    /// Finds the path of the daemon's socket.
    ///
    /// The sources of the path, in order of precedence: the argument; the variable `NOTIFYD_SOCKET`; the first existing
    /// socket of the user's own daemon; the system's `/run/notifyd/notifyd.sock`.
    ///
    /// The user's own daemon listens at `notifyd/notifyd.sock` in `$XDG_RUNTIME_DIR` or `/run/user/UID`, or at
    /// `/tmp/notifyd-UID/notifyd.sock`. Any user can create that directory in `/tmp`, so the client uses it only if the
    /// directory and the socket belong to this user or to root, and only the owner may write to the directory.
    ///
    /// - Parameters:
    ///   - path: A path that takes precedence over all others.
    ///   - environment: The variables to use instead of the environment of the process.
    /// - Throws: ``NotifyError`` with `invalidSocketPath` if the path is empty or longer than 107 bytes, the limit for
    ///   Unix sockets.
    public static func socketPath(
        explicit path: String? = nil, environment: [String: String]? = nil
    ) throws(NotifyError) -> String {
        try SocketSearch(environment: environment).path(explicit: path)
    }
}

/// The search for the daemon's socket.
struct SocketSearch {
    static let systemPath = "/run/notifyd/notifyd.sock"
    static let maximumBytes = 107

    /// The variables to use instead of the environment of the process.
    var environment: [String: String]?
    var uid = getuid()
    var runtimeFolder = "/run/user"
    var temporaryFolder = "/tmp"

    func path(explicit: String?) throws(NotifyError) -> String {
        let path = explicit ?? variable("NOTIFYD_SOCKET") ?? usersPath ?? Self.systemPath
        guard !path.isEmpty else {
            throw NotifyError(
                .invalidSocketPath, "the socket path is empty; give a path, or omit it to search for the socket")
        }
        guard path.utf8.count <= Self.maximumBytes else {
            throw NotifyError(
                .invalidSocketPath,
                "the socket path has \(path.utf8.count) bytes; at most \(Self.maximumBytes) are allowed: \(path)")
        }
        return path
    }

    private func variable(_ name: String) -> String? {
        let value = environment.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The first existing socket of the user's own daemon.
    private var usersPath: String? {
        if let runtime = variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
            let path = runtime + "/notifyd/notifyd.sock"
            if status(path).map(isSocket) == true { return path }
        }
        let path = "\(runtimeFolder)/\(uid)/notifyd/notifyd.sock"
        if status(path).map(isSocket) == true { return path }
        let folder = "\(temporaryFolder)/notifyd-\(uid)"
        let fallback = folder + "/notifyd.sock"
        guard let folderStatus = status(folder), isTrusted(folderStatus), let socket = status(fallback) else {
            return nil
        }
        return isSocket(socket) && isOurs(socket) ? fallback : nil
    }

    /// Does not follow symbolic links: any user can create one in a world-writable directory.
    private func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private func isSocket(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFSOCK }

    private func isOurs(_ status: stat) -> Bool { status.st_uid == uid || status.st_uid == 0 }

    private func isTrusted(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFDIR && isOurs(status) && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }
}
