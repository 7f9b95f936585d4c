import Glibc

extension NotifyClient {
    /// The path of the daemon's socket: the one given, else that in `NOTIFYD_SOCKET`, else the user's own where there is
    /// one, else the system's at `/run/notifyd/notifyd.sock`.
    ///
    /// The user's own is `notifyd/notifyd.sock` in `$XDG_RUNTIME_DIR`, else in `/run/user/UID`, else
    /// `/tmp/notifyd-UID/notifyd.sock`. In `/tmp` anybody can make that folder, so it only counts if it belongs to this user
    /// or to root, and nobody else may write to it.
    ///
    /// - Parameters:
    ///   - path: A path that beats all others.
    ///   - environment: Variables to look at instead of the process's own.
    /// - Throws: ``NotifyError`` with `invalidSocketPath` if the path is empty or longer than the 107 bytes that a socket's
    ///   path can have.
    public static func socketPath(
        explicit path: String? = nil, environment: [String: String]? = nil
    ) throws(NotifyError) -> String {
        try SocketSearch(environment: environment).path(explicit: path)
    }
}

/// Where a daemon's socket may be.
struct SocketSearch {
    static let systemPath = "/run/notifyd/notifyd.sock"
    static let maximumBytes = 107

    /// Variables to look at instead of the process's own.
    var environment: [String: String]?
    var uid = getuid()
    var runtimeFolder = "/run/user"
    var temporaryFolder = "/tmp"

    func path(explicit: String?) throws(NotifyError) -> String {
        let path = explicit ?? variable("NOTIFYD_SOCKET") ?? usersPath ?? Self.systemPath
        guard !path.isEmpty else {
            throw NotifyError(.invalidSocketPath, "the socket's path is empty; name one, or leave it out")
        }
        guard path.utf8.count <= Self.maximumBytes else {
            throw NotifyError(
                .invalidSocketPath,
                "the socket's path has \(path.utf8.count) bytes and at most \(Self.maximumBytes) are possible: \(path)")
        }
        return path
    }

    private func variable(_ name: String) -> String? {
        let value = environment.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The first socket of the user's own that is there.
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

    /// Links are not followed: a link in a folder of everybody's could lead anywhere.
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
