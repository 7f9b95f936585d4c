import Glibc

/// Remarks and errors, each one line that is written at once.
enum StandardError {
    static func say(_ message: String) {
        let oneLine = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        let line = Array("notifyctl: \(oneLine)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
