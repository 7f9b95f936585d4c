import Glibc

/// Prints to standard output, and reports a failure, which Swift's `print` ignores.
enum StandardOutput {
    /// Why standard output can't be written.
    struct Failure: Error, CustomStringConvertible {
        var reason: String

        var description: String { "can't write to standard output: \(reason)" }
    }

    /// Prints a text and a newline.
    static func print(_ text: String) throws(Failure) {
        var rest = Array("\(text)\n".utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another process has made the descriptor non-blocking.
                var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&output, 1, -1)
            case EPIPE: throw Failure(reason: "its reader has closed it")
            case let code: throw Failure(reason: String(cString: strerror(code)))
            }
        }
    }
}
