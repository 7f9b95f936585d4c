import Glibc

/// Standard input, output and error of the process.
enum StandardDescriptors {
    /// Opens `/dev/null` for reading in place of those that are closed. Otherwise the next file or socket that the
    /// process opens would get their numbers, and would be read or written instead.
    static func reserve() {
        // `open` returns the lowest free number.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
