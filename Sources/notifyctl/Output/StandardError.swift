import Glibc

/// Prints notices and errors, each as one line in one write. Control characters, which could change the terminal, are
/// replaced.
enum StandardError {
    static func write(_ message: String) {
        let oneLine = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        let line = Array("notifyctl: \(Table.printable(oneLine))\n".utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }
}
