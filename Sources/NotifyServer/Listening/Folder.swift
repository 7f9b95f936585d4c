package import Glibc

/// A folder of the daemon's own: where it is and who may enter.
package struct Folder: Sendable, Equatable {
    package let path: String
    /// The permission bits that it is made with, whatever the umask.
    package let mode: mode_t

    package init(path: String, mode: mode_t) {
        self.path = path
        self.mode = mode
    }

    /// Whether nobody but the owner may look inside, so that an existing folder of somebody else's will not do.
    private var isPrivate: Bool { mode & 0o077 == 0 }

    /// Makes the folder, and those above it that are missing; one that exists is checked instead.
    ///
    /// - Parameters:
    ///   - owner: who must own a private folder that is there already. Its mode is tightened to ``mode``.
    ///   - purpose: what goes into it, "socket" or "database", which is also the option that chooses another.
    package func prepare(owner: uid_t, purpose: String) throws(ServerError) {
        try makeParents(purpose: purpose)
        if mkdir(path, mode) == 0 {
            try setMode(purpose: purpose)
            return
        }
        let failure = SystemCallError("mkdir")
        guard failure.errorNumber == EEXIST else {
            throw .folderUnusable(path, purpose: purpose, cause: failure)
        }
        try verifyExisting(owner: owner, purpose: purpose)
    }

    /// The folder that `path` is in.
    package static func containing(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private func makeParents(purpose: String) throws(ServerError) {
        var missing: [String] = []
        var parent = Folder.containing(path)
        while parent != "/", parent != ".", access(parent, F_OK) != 0, errno == ENOENT {
            missing.append(parent)
            parent = Folder.containing(parent)
        }
        for parent in missing.reversed() {
            guard mkdir(parent, mode) == 0 || errno == EEXIST else {
                throw .folderUnusable(parent, purpose: purpose, cause: SystemCallError("mkdir"))
            }
        }
    }

    private func verifyExisting(owner: uid_t, purpose: String) throws(ServerError) {
        var status = stat()
        // A private folder may lie where anybody can write (/tmp), so a link there is not followed.
        let result = isPrivate ? lstat(path, &status) : stat(path, &status)
        guard result == 0 else {
            throw .folderUnusable(path, purpose: purpose, cause: SystemCallError("stat"))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            let what = status.st_mode & S_IFMT == S_IFLNK ? "a symbolic link" : "not a folder"
            throw ServerError(
                .folderUnusable,
                "\(path), where the \(purpose) goes, is \(what): remove it, or choose another path with --\(purpose)")
        }
        guard isPrivate else { return }
        guard status.st_uid == owner else {
            throw ServerError(
                .folderUnusable,
                "the folder \(path) of the \(purpose) belongs to uid \(status.st_uid), not to uid \(owner): "
                    + "run notifyd as its owner, or choose another path with --\(purpose)")
        }
        if status.st_mode & 0o7777 != mode { try setMode(purpose: purpose) }
    }

    private func setMode(purpose: String) throws(ServerError) {
        // mkdir takes the umask's bits away, so the mode is set once more.
        guard chmod(path, mode) == 0 else {
            throw .folderUnusable(path, purpose: purpose, cause: SystemCallError("chmod"))
        }
    }
}

extension ServerError {
    /// A folder in which the daemon cannot do what it must, with what helps against each reason.
    static func folderUnusable(_ path: String, purpose: String, cause: SystemCallError) -> ServerError {
        let problem =
            switch cause.errorNumber {
            case ENOENT: "does not exist: create it, or"
            case ENOTDIR: "is not a folder:"
            case EACCES, EPERM: "cannot be written by this user: change its permissions, or"
            case EROFS: "is on a read-only file system:"
            case ENOSPC, EDQUOT: "is on a full file system: make room, or"
            default: "cannot be used:"
            }
        return ServerError(
            .folderUnusable,
            "the folder \(path) of the \(purpose) \(problem) choose another path with --\(purpose)", cause: cause)
    }
}
