import Glibc
package import SystemPackage

/// The reason why a file of the daemon can't be trusted: another user may change or replace it.
package enum OwnershipProblem: Error, Equatable, Sendable {
    /// The file or directory belongs to another user.
    case belongs(String, to: UInt32)
    /// Other users may replace files in the directory.
    case isWritableByOthers(String, mode: UInt32)
    /// Other users may write to the configuration file, or replace files in its directory.
    case isEditableByOthers(String, mode: UInt32)
    /// The configuration file belongs neither to root nor to the daemon's user.
    case isConfigurationOf(UInt32, String)
    /// The file has several hard links, so a write to this path also changes the file at the other paths.
    case isHardLinked(String, names: UInt64)

    /// Checks that no other user can replace a file in the directory of `path`. Changes nothing.
    ///
    /// A directory whose status can't be read passes: opening the file fails later. A sticky directory such as `/tmp`
    /// passes: a user can neither rename nor remove files of other users in it. The owner of the directory may replace
    /// every file in it, even if it is sticky. Therefore root must own the directory if this process runs as root.
    /// Otherwise the owner is trusted.
    package static func checkDirectory(of path: String) throws(OwnershipProblem) {
        let directory = AccessProblem.directory(of: path)
        guard let status = try? Stat(FilePath(directory)) else { return }
        guard geteuid() != 0 || status.userID.rawValue == 0 else {
            throw .belongs(directory, to: status.userID.rawValue)
        }
        let mode = status.permissions.rawValue
        guard mode & 0o022 == 0 || mode & S_ISVTX != 0 else {
            throw .isWritableByOthers(directory, mode: mode & 0o7777)
        }
    }

    /// Checks that the file belongs to this process's user and has no other hard link.
    package static func checkFile(_ status: Stat, at path: String) throws(OwnershipProblem) {
        guard status.userID.rawValue == geteuid() else { throw .belongs(path, to: status.userID.rawValue) }
        guard status.linkCount == 1 else { throw .isHardLinked(path, names: UInt64(status.linkCount)) }
    }

    /// Checks that the configuration file or directory belongs to root or to this process's user, and that no other
    /// user may write to it.
    package static func checkConfiguration(_ status: Stat, at path: String) throws(OwnershipProblem) {
        let owner = status.userID.rawValue
        guard owner == 0 || owner == geteuid() else { throw .isConfigurationOf(owner, path) }
        let mode = status.permissions.rawValue
        guard mode & 0o022 == 0 else { throw .isEditableByOthers(path, mode: mode & 0o7777) }
    }
}

extension OwnershipProblem: CustomStringConvertible {
    /// A user as the argument of `sudo -u`: by name if there is one.
    private static func sudoUser(_ uid: UInt32) -> String {
        guard let name = getpwuid(uid)?.pointee.pw_name else { return "'#\(uid)'" }
        return String(cString: name)
    }

    /// One line without a final period that states the problem and how to correct it.
    package var description: String {
        switch self {
        case .belongs(let path, let owner) where geteuid() == 0:
            "'\(path)' belongs to uid \(owner), and notifyd runs as root: run \"chown root '\(path)'\", "
                + "or start notifyd with \"sudo -u \(Self.sudoUser(owner))\""
        case .belongs(let path, let owner):
            "'\(path)' belongs to uid \(owner), and notifyd runs as uid \(geteuid()): "
                + "run \"sudo chown \(geteuid()) '\(path)'\""
        case .isWritableByOthers(let directory, let mode):
            "other users may write to the directory '\(directory)' (mode 0\(String(mode, radix: 8))): "
                + "run \"chmod go-w '\(directory)'\""
        case .isEditableByOthers(let path, let mode):
            "other users may write to '\(path)' (mode 0\(String(mode, radix: 8))): run \"chmod go-w '\(path)'\""
        case .isConfigurationOf(let owner, let path):
            "'\(path)' belongs to uid \(owner), who could change the configuration: run \"chown root '\(path)'\""
        case .isHardLinked(let path, let names):
            "'\(path)' is one of \(names) hard links to a file: remove this link"
        }
    }
}
