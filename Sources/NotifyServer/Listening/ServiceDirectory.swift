package import Glibc
import NotifySystem
import SystemPackage

/// A directory of the daemon's own files: its path and its permissions.
package struct ServiceDirectory: Sendable, Equatable {
    package let path: String
    /// The permission bits of a new directory, regardless of the umask.
    package let mode: mode_t

    package init(path: String, mode: mode_t) {
        self.path = path
        self.mode = mode
    }

    /// Whether only the owner has access. An existing private directory of another user is refused.
    private var isPrivate: Bool { mode & 0o077 == 0 }

    /// Creates the directory and its missing parents, or checks the existing directory.
    ///
    /// - Parameters:
    ///   - owner: The required owner of an existing private directory. The mode of that directory is set to ``mode``.
    ///   - purpose: The use of the directory, "socket" or "database". The command-line option for another path has the
    ///     same name.
    package func prepare(owner: uid_t, purpose: String) throws(ServerError) {
        if isPrivate, access(path, F_OK) != 0 { try verifySurroundings(owner: owner, purpose: purpose) }
        try makeParents(purpose: purpose)
        if mkdir(path, mode) == 0 {
            try setMode(purpose: purpose)
            return
        }
        let error = Errno.last
        guard error == .fileExists else { throw .directoryUnusable(path, purpose: purpose, cause: error) }
        try verifyExisting(owner: owner, purpose: purpose)
    }

    /// Refuses a directory whose nearest existing parent belongs to a user other than root and the owner, because that
    /// user could replace the directory. After `su`, for example, the environment's variables name such a directory.
    private func verifySurroundings(owner: uid_t, purpose: String) throws(ServerError) {
        var parent = AccessProblem.directory(of: path)
        while parent != "/", parent != ".", access(parent, F_OK) != 0, errno == ENOENT {
            parent = AccessProblem.directory(of: parent)
        }
        guard let status = try? Stat(FilePath(parent)) else { return }
        let parentOwner = status.userID.rawValue
        guard parentOwner == owner || parentOwner == 0 else {
            throw ServerError(
                .directoryUnusable,
                "the directory \(path) of the \(purpose) is in '\(parent)', which belongs to uid \(parentOwner): "
                    + "set HOME and the XDG variables to those of uid \(owner), or choose another path with --\(purpose)"
            )
        }
    }

    private func makeParents(purpose: String) throws(ServerError) {
        var missing: [String] = []
        var parent = AccessProblem.directory(of: path)
        while parent != "/", parent != ".", access(parent, F_OK) != 0, errno == ENOENT {
            missing.append(parent)
            parent = AccessProblem.directory(of: parent)
        }
        for parent in missing.reversed() {
            guard mkdir(parent, mode) == 0 || errno == EEXIST else {
                throw .directoryUnusable(parent, purpose: purpose, cause: .last)
            }
        }
    }

    private func verifyExisting(owner: uid_t, purpose: String) throws(ServerError) {
        let status: Stat
        do throws(Errno) {
            // Every user may be able to write to the parent of a private directory (`/tmp`), so a symbolic link is not
            // followed.
            status = try Stat(FilePath(path), followTargetSymlink: !isPrivate)
        } catch {
            throw .directoryUnusable(path, purpose: purpose, cause: error)
        }
        guard status.type == .directory else {
            let what = status.type == .symbolicLink ? "a symbolic link" : "not a directory"
            throw ServerError(
                .directoryUnusable,
                "the directory \(path) of the \(purpose) is \(what): remove it, or choose another path with --\(purpose)"
            )
        }
        guard isPrivate else { return }
        guard status.userID.rawValue == owner else {
            throw ServerError(
                .directoryUnusable,
                "the directory \(path) of the \(purpose) belongs to uid \(status.userID.rawValue), not to uid \(owner): "
                    + "run notifyd as its owner, or choose another path with --\(purpose)")
        }
        try verifySurroundings(owner: owner, purpose: purpose)
        if status.rawValue.st_mode & 0o7777 != mode { try setMode(purpose: purpose) }
    }

    private func setMode(purpose: String) throws(ServerError) {
        // `mkdir` applies the umask, `chmod` does not.
        guard chmod(path, mode) == 0 else {
            throw .directoryUnusable(path, purpose: purpose, cause: .last)
        }
    }
}

extension ServerError {
    /// The error for a directory that can't be used. Its message says how to correct the problem.
    static func directoryUnusable(_ path: String, purpose: String, cause: Errno) -> ServerError {
        let problem =
            switch cause {
            case .noSuchFileOrDirectory: "does not exist: create it, or"
            case .notDirectory: "is not a directory:"
            case .permissionDenied, .notPermitted: "cannot be written by this user: change its permissions, or"
            case .readOnlyFileSystem: "is on a read-only file system:"
            case .noSpace, .diskQuotaExceeded: "is on a full file system: make room, or"
            default: "cannot be used:"
            }
        return ServerError(
            .directoryUnusable,
            "the directory \(path) of the \(purpose) \(problem) choose another path with --\(purpose)", cause: cause)
    }
}
