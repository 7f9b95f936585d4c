import Glibc
import SystemPackage

/// The file of a program.
enum ProgramFile {
    /// The folders in which programs are searched, separated by colons.
    static var searchPath: String { getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin" }

    /// Finds a program: a path, or the name of a program in a folder of `searchPath`. Folders with a relative path are
    /// ignored.
    ///
    /// - Throws: The reason why the file can't be run. For a name, `noSuchFileOrDirectory` if no folder has such a program.
    static func find(_ command: String, in searchPath: String = searchPath) throws(Errno) -> String {
        guard !command.utf8.contains(UInt8(ascii: "/")) else {
            guard access(command, X_OK) == 0 else { throw Errno(rawValue: errno) }
            // `access` also finds folders.
            guard !isFolder(command) else { throw .isDirectory }
            return command
        }
        for folder in searchPath.split(separator: ":") where folder.hasPrefix("/") {
            let path = "\(folder)/\(command)"
            if access(path, X_OK) == 0, !isFolder(path) { return path }
        }
        throw .noSuchFileOrDirectory
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
