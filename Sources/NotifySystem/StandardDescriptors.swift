import Glibc
import Synchronization

/// Standard input, output and error of the process.
package enum StandardDescriptors {
    private static let closed = Mutex<Set<Int32>>([])

    /// Opens `/dev/null` for reading in place of each standard descriptor that is closed. Otherwise the next file or
    /// socket that the process opens would get that number, and would be used as standard input, output or error.
    package static func reserve() {
        // `open` returns the lowest free number.
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDONLY)
            _ = closed.withLock { $0.insert(descriptor) }
        }
    }

    /// Whether the descriptor was closed when ``reserve()`` was called.
    package static func wasClosed(_ descriptor: Int32) -> Bool { closed.withLock { $0.contains(descriptor) } }
}
