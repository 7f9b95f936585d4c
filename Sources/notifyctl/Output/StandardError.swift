import Glibc
import Synchronization

/// Prints notices and errors, each as one line. Control characters, which could change the terminal, are replaced.
///
/// A reader that has stalled must not block the command, so a line that can't be written within a second is dropped.
/// The next line that can be written is preceded by a notice with the number of dropped lines.
enum StandardError {
    /// The maximum number of bytes of one write. A pipe that polls as writable accepts this many bytes without blocking
    /// (`PIPE_BUF`).
    private static let pieceBytes = 4096
    private static let limitMilliseconds: Int32 = 1_000

    /// The number of lines that were dropped since a line was last written. Locked during a write, so that no other
    /// write takes the space that the poll has found.
    private static let dropped = Mutex(0)

    static func write(_ message: String) { _ = wasWritten(message) }

    /// Prints a line.
    ///
    /// - Returns: Whether the line was written.
    static func wasWritten(_ message: String) -> Bool {
        dropped.withLock { dropped in
            // After a dropped line, further lines do not wait: the reader has stalled already.
            guard isWritable(within: dropped > 0 ? 0 : limitMilliseconds) else {
                dropped += 1
                return false
            }
            if dropped > 0, write(line: notice(ofDropped: dropped)) != .stalled { dropped = 0 }
            let outcome = write(line: message)
            if outcome == .stalled { dropped += 1 }
            return outcome == .written
        }
    }

    private enum Outcome {
        case written
        /// The reader does not read.
        case stalled
        /// Standard error can't be written. This can't be reported.
        case failed
    }

    /// The notice that lines could not be printed.
    static func notice(ofDropped count: Int) -> String {
        (count == 1 ? "a line was" : "\(count) lines were") + " not printed, because standard error was not read"
    }

    private static func write(line message: String) -> Outcome {
        let oneLine = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        // Replaces a line of progress, which is shown again later.
        let erasure = ProgressBar.isShown.exchange(false, ordering: .relaxed) ? ProgressBar.erasure : ""
        var rest = Array("\(erasure)notifyctl: \(Table.printable(oneLine))\n".utf8)[...]
        while !rest.isEmpty {
            guard isWritable(within: limitMilliseconds) else { return .stalled }
            let count = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, min($0.count, pieceBytes)) }
            guard count > 0 else { return errno == EAGAIN ? .stalled : .failed }
            rest = rest.dropFirst(count)
        }
        return .written
    }

    private static func isWritable(within limit: Int32) -> Bool {
        Blocking.poll([(STDERR_FILENO, Int32(POLLOUT))], isWaiting: limit > 0, limitMilliseconds: limit)[0] != 0
    }
}
