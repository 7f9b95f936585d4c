import Glibc

/// The kind of file that standard input is connected to.
enum StandardInput {
    /// Whether `post` reads the descriptor by default: it is open and neither a terminal nor `/dev/null`.
    static func hasContent(_ descriptor: Int32 = STDIN_FILENO) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, isatty(descriptor) == 0 else { return false }
        var null = stat()
        guard stat("/dev/null", &null) == 0 else { return true }
        return status.st_mode & S_IFMT != S_IFCHR || status.st_rdev != null.st_rdev
    }
}
