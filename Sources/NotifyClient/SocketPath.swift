import Glibc

extension NotificationClient {
    /// Finds the path of the daemon's socket, as ``Configuration/socketPath`` describes.
    ///
    /// - Parameters:
    ///   - path: A path that takes precedence over all others.
    ///   - environment: The variables to use instead of the environment of the process.
    ///   - onSkip: Called with the reason why a socket was skipped: one line without a final period.
    /// - Throws: ``NotifyError`` with `invalidSocketPath` if the path is empty or longer than 107 bytes, the limit for
    ///   Unix sockets.
    package static func socketPath(
        explicit path: String? = nil, environment: [String: String]? = nil, onSkip: ((String) -> Void)? = nil
    ) throws(NotifyError) -> String {
        try SocketSearch(environment: environment, onSkip: onSkip).path(explicit: path)
    }

    /// The paths at which ``socketPath(explicit:environment:onSkip:)`` searches for the user's own sockets, whether or
    /// not the sockets exist. Excludes folders in which another user could create files. Empty if `NOTIFYD_SOCKET` is
    /// set.
    package static var searchedSocketPaths: [String] { SocketSearch().searchedPaths }
}

/// The search for the daemon's socket.
struct SocketSearch {
    static let systemPath = "/run/notifyd/notifyd.sock"
    static let maximumBytes = 107

    /// The variables to use instead of the environment of the process.
    var environment: [String: String]?
    /// Called with the reason why a socket was skipped.
    var onSkip: ((String) -> Void)?
    var uid = geteuid()
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

    fileprivate func variable(_ name: String) -> String? {
        let value = environment.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The first existing socket of the user's own daemon.
    private var usersPath: String? {
        for folder in usersFolders {
            if let path = socket(in: folder) { return path }
        }
        return nil
    }

    /// The paths of the user's own sockets in trusted folders.
    var searchedPaths: [String] {
        guard variable("NOTIFYD_SOCKET") == nil else { return [] }
        return usersFolders.filter { problem(of: $0) == nil }.map { socketPath(in: $0) }
    }

    private func socketPath(in folder: Folder) -> String { folder.path + "/notifyd.sock" }

    /// A folder in which the user's own daemon may have its socket.
    fileprivate struct Folder {
        var path: String
        /// The parent folder, unless it is a folder of the system.
        var parent: String?
        /// The variable that names the parent.
        var variable: String?
    }

    /// The folders in which the user's own daemon may have its socket.
    fileprivate var usersFolders: [Folder] {
        var folders: [Folder] = []
        let own = "\(runtimeFolder)/\(uid)"
        if let runtime = variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/"), runtime != own {
            folders.append(Folder(path: runtime + "/notifyd", parent: runtime, variable: "$XDG_RUNTIME_DIR"))
        }
        folders.append(Folder(path: own + "/notifyd", parent: own))
        folders.append(Folder(path: "\(temporaryFolder)/notifyd-\(uid)"))
        return folders
    }

    /// The path of the socket in a folder; nil if there is no socket, or if another user could have put it there.
    private func socket(in folder: Folder) -> String? {
        if let problem = problem(of: folder) {
            if mayExist(folder.path) { skip(folder, problem) }
            return nil
        }
        let path = socketPath(in: folder)
        guard let socket = self.status(path) else { return nil }
        guard isOurs(socket) else {
            skip(folder, "'\(path)' belongs to uid \(socket.st_uid)")
            return nil
        }
        guard isKind(socket, S_IFSOCK) else {
            skip(folder, "'\(path)' is \(isKind(socket, S_IFLNK) ? "a link" : "no socket")")
            return nil
        }
        return path
    }

    private func skip(_ folder: Folder, _ problem: String) {
        onSkip?("no socket in '\(folder.path)' is used: \(problem)")
    }

    /// The reason why another user could create a socket in the folder; nil if no other user could, or if the folder
    /// does not exist.
    private func problem(of folder: Folder) -> String? {
        if let parent = folder.parent, let problem = problem(ofParent: parent) {
            return (folder.variable.map { $0 + ", " } ?? "") + problem
        }
        // Links are not followed: any user can create one in a world-writable folder.
        return status(folder.path).flatMap { problem(of: $0, folder.path) }
    }

    /// The reason why another user could replace the subfolders of a folder; nil if no other user could. The path may
    /// name a link to the folder.
    private func problem(ofParent path: String) -> String? {
        guard var folder = status(path) else { return nil }
        if isKind(folder, S_IFLNK), isOurs(folder) { guard stat(path, &folder) == 0 else { return nil } }
        return problem(of: folder, path, isParent: true)
    }

    private func problem(of folder: stat, _ path: String, isParent: Bool = false) -> String? {
        guard isOurs(folder) else { return "'\(path)' belongs to uid \(folder.st_uid)" }
        guard isKind(folder, S_IFDIR) else { return "'\(path)' is not a folder" }
        // In a sticky folder such as /tmp, other users can't replace a folder of this user.
        if isParent, folder.st_mode & S_ISVTX != 0 { return nil }
        guard folder.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            return "other users may write to '\(path)' (mode 0\(String(folder.st_mode & 0o7777, radix: 8)))"
        }
        return nil
    }

    /// Whether a file exists at the path, or may exist because its folder can't be searched.
    private func mayExist(_ path: String) -> Bool { status(path) != nil || errno == EACCES }

    private func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private func isKind(_ status: stat, _ kind: mode_t) -> Bool { status.st_mode & S_IFMT == kind }

    private func isOurs(_ status: stat) -> Bool { status.st_uid == uid || status.st_uid == 0 }
}
