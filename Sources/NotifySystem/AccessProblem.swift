import Glibc
package import SystemPackage

/// Explains why a file can't be opened or created: the file or directory concerned, its owner and its mode.
package enum AccessProblem {
    /// The directory that contains `path`.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Describes the error of opening or creating the file at `path` for reading and writing, and how to correct it.
    ///
    /// - Returns: One line without a final period, such as "the directory '/srv' does not exist; create it".
    package static func describe(_ error: Errno, opening path: String) -> String {
        switch error {
        case .noSuchFileOrDirectory:
            return describeMissing(directory(of: path))
        case .notDirectory:
            return "'\(firstAncestor(of: path) { (try? Stat(FilePath($0)).type) != .directory })' is not a directory"
        case .permissionDenied, .notPermitted:
            return describeDenied(error, path)
        case .readOnlyFileSystem:
            return "the file system of '\(directory(of: path))' is read-only"
        case .noSpace, .diskQuotaExceeded:
            return "the file system of '\(directory(of: path))' is full; make room on it"
        default:
            return "\(error)"
        }
    }

    private static func describeMissing(_ directory: String) -> String {
        // The kernel's own file systems, such as /proc, report ENOENT where no file can be created.
        if access(directory, F_OK) == 0 { return "no file can be created in the directory '\(directory)'" }
        return "the directory '\(directory)' does not exist; create it"
    }

    private static func describeDenied(_ error: Errno, _ path: String) -> String {
        let closed = firstAncestor(of: path) { faccessat(AT_FDCWD, $0, X_OK, AT_EACCESS) != 0 }
        let isClosed = faccessat(AT_FDCWD, closed, X_OK, AT_EACCESS) != 0
        if !isClosed, let file = try? Stat(FilePath(path), followTargetSymlink: false) {
            return "the file \(describe(file)); \(repair(file, path))"
        }
        guard let directory = try? Stat(FilePath(closed)) else { return "\(error)" }
        return
            "the directory '\(closed)' \(describe(directory)); let notifyd's user \(isClosed ? "enter" : "write to") it"
    }

    /// The command that makes this process's user the owner of the file, or that gives its owner the missing
    /// permissions. A change of the owner includes the files beside it, such as its lock file, which have the same
    /// problem.
    private static func repair(_ file: Stat, _ path: String) -> String {
        guard file.userID.rawValue != geteuid() else { return "run \"chmod 600 '\(path)'\"" }
        let suffix = [".lock", "-wal"].first { path.hasSuffix($0) } ?? ""
        return "run \"sudo chown \(geteuid()) '\(path.dropLast(suffix.count))'*\""
    }

    private static func describe(_ status: Stat) -> String {
        let mode = String(status.permissions.rawValue & 0o7777, radix: 8)
        return
            "belongs to uid \(status.userID.rawValue) and has the mode 0\(mode), and notifyd runs as uid \(geteuid())"
    }

    /// The outermost directory above `path` that satisfies the condition; the directory of `path` if none does.
    private static func firstAncestor(of path: String, _ condition: (String) -> Bool) -> String {
        var directories = [directory(of: path)]
        while let last = directories.last, last != "/", last != "." { directories.append(directory(of: last)) }
        return directories.reversed().first(where: condition) ?? directories[0]
    }
}
