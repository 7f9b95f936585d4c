import Glibc
import Synchronization

/// Where records go, and how much of them, for all loggers of the process. The level may change while they log.
package final class LogDestination: Sendable {
    package enum Format: Sendable, Equatable {
        /// For a person or a file: time, level, message.
        case timestamped
        /// For the journal, which has times of its own and reads the level from a prefix `<N>`.
        case journal
    }

    package let format: Format
    private let descriptor: CInt
    private let currentLevel: Atomic<Int>

    /// - Parameter descriptor: an open file descriptor that outlives the loggers.
    package init(descriptor: CInt, format: Format, level: LogLevel) {
        self.descriptor = descriptor
        self.format = format
        currentLevel = Atomic(Self.index(of: level))
    }

    /// Standard error, in the journal's format if that is what it leads to.
    package static func standardError(for context: ProcessContext, level: LogLevel) -> LogDestination {
        let format: Format = isJournal(STDERR_FILENO, context) ? .journal : .timestamped
        return LogDestination(descriptor: STDERR_FILENO, format: format, level: level)
    }

    /// Whether `JOURNAL_STREAM` (device and inode) names the file that the descriptor leads to. Standard error may have
    /// been sent elsewhere since systemd set the variable.
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

    /// Writes a record with one call, so that records of several threads do not mix. A lost record is nobody's error.
    func write(_ line: String) {
        var line = line
        line.withUTF8 { bytes in _ = Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
    }

    private static func index(of level: LogLevel) -> Int {
        LogLevel.allCases.firstIndex(of: level) ?? 0
    }
}
