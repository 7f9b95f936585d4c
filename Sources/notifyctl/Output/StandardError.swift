import Glibc

/// Prints remarks and errors, each as one line in one write.
enum StandardError {
    static func say(_ message: String) {
        let oneLine = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        let line = Array("notifyctl: \(oneLine)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
