import Glibc
import Synchronization

/// The output and the level of all loggers of the process. The level may change at any time.
package final class LogDestination: Sendable {
    package enum Format: Sendable, Equatable {
        /// For a terminal or a file: time, level, message.
        case timestamped
        /// For the journal, which adds the time itself and reads the priority from a prefix `<N>`.
        case journal
    }

    package let format: Format
    private let descriptor: CInt
    private let currentLevel: Atomic<Int>

    /// - Parameter descriptor: An open file descriptor that outlives the loggers.
    package init(descriptor: CInt, format: Format, level: LogLevel) {
        self.descriptor = descriptor
        self.format = format
        currentLevel = Atomic(Self.index(of: level))
    }

    /// Standard error, in the journal's format if it is connected to the journal.
    package static func standardError(for context: ProcessContext, level: LogLevel) -> LogDestination {
        let format: Format = isJournal(STDERR_FILENO, context) ? .journal : .timestamped
        return LogDestination(descriptor: STDERR_FILENO, format: format, level: level)
    }

    /// Whether the descriptor is the stream that `JOURNAL_STREAM` names (device and inode). Standard error may have
    /// been redirected since systemd set the variable.
    package static func isJournal(_ descriptor: CInt, _ context: ProcessContext) -> Bool {
        guard let stream = context.variable("JOURNAL_STREAM") else { return false }
        let numbers = stream.split(separator: ":", maxSplits: 1).map { UInt64($0) }
        var status = stat()
        guard numbers.count == 2, fstat(descriptor, &status) == 0 else { return false }
        return numbers[0] == UInt64(status.st_dev) && numbers[1] == UInt64(status.st_ino)
    }

    package var level: LogLevel {
        get { LogLevel.allCases[currentLevel.load(ordering: .relaxed)] }
        set { currentLevel.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    /// Writes a record with one system call, so that records of several threads do not mix. Errors are ignored.
    func write(_ line: String) {
        var line = line
        line.withUTF8 { bytes in _ = Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }

    private static func index(of level: LogLevel) -> Int {
        LogLevel.allCases.firstIndex(of: level) ?? 0
    }
}
