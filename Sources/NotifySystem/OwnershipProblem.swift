package import Glibc
package import SystemPackage

/// Why a file of the daemon's can't be trusted: another user may change or replace it.
package enum OwnershipProblem: Error, Equatable, Sendable {
    /// The file or folder belongs to another user.
    case belongs(String, to: uid_t)
    /// Other users may replace files in the folder.
    case isWritableByOthers(String, mode: mode_t)
    /// The file has several names (hard links), so that a write to it changes another file as well.
    case isHardLinked(String, names: UInt64)

    /// Checks the folder of the file at `path`, without a change to either. A folder that can't be looked at passes:
    /// the file can't be opened then.
    ///
    /// A sticky folder such as `/tmp` passes: in it other users can neither rename nor remove a file that is not theirs.
    /// For root the folder must be root's: its owner may replace every file in it, also in a sticky one.
    package static func checkFolder(of path: String) throws(OwnershipProblem) {
        let folder = AccessProblem.folder(of: path)
        guard let status = try? Stat(FilePath(folder)) else { return }
        guard geteuid() != 0 || status.userID.rawValue == 0 else { throw .belongs(folder, to: status.userID.rawValue) }
        let mode = status.permissions.rawValue
        guard mode & 0o022 == 0 || mode & S_ISVTX != 0 else {
            throw .isWritableByOthers(folder, mode: mode & 0o7777)
        }
    }

    /// Checks that the file belongs to this process's user and has no other name.
    package static func checkFile(_ status: Stat, at path: String) throws(OwnershipProblem) {
        guard status.userID.rawValue == geteuid() else { throw .belongs(path, to: status.userID.rawValue) }
        guard status.linkCount == 1 else { throw .isHardLinked(path, names: UInt64(status.linkCount)) }
    }
}

extension OwnershipProblem: CustomStringConvertible {
    /// One line without a final period, with the command that corrects it.
    package var description: String {
        switch self {
        case .belongs(let path, let owner) where geteuid() == 0:
            "'\(path)' belongs to uid \(owner), and notifyd runs as root: run \"chown root '\(path)'\", "
                + "or start notifyd with \"sudo -u '#\(owner)'\""
        case .belongs(let path, let owner):
            "'\(path)' belongs to uid \(owner), and notifyd runs as uid \(geteuid()): "
                + "run \"sudo chown \(geteuid()) '\(path)'\""
        case .isWritableByOthers(let folder, let mode):
            "other users may write to the folder '\(folder)' (mode 0\(String(mode, radix: 8))): "
                + "run \"chmod go-w '\(folder)'\""
        case .isHardLinked(let path, let names):
            "'\(path)' is one of \(names) hard links to a file: remove it"
        }
    }
}
