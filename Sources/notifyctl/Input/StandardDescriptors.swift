import Glibc

/// Standard input, output and error of the process.
enum StandardDescriptors {
    /// Opens `/dev/null`, to be read, in place of those that are closed. Otherwise the next descriptor of the process, such
    /// as its socket, would be read or written instead.
    static func reserve() {
        // Opening takes the lowest number that is free.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDONLY)
        }
    }
}
