import Glibc
import Logging
import Synchronization

/// The output and the level of all loggers of the process. The level may change at any time.
///
/// Logging never blocks: a thread writes the records. See ``RecordQueue``.
package final class LogDestination: Sendable {
    package enum Format: Sendable, Equatable {
        /// For a terminal or a file: time, level, message.
        case timestamped
        /// For the journal, which adds the time itself and reads the priority from a prefix `<N>`.
        case journal
    }

    package let format: Format
    private let records: RecordQueue
    private let currentLevel: Atomic<Int>

    /// - Parameter descriptor: An open file descriptor that outlives the loggers.
    package init(descriptor: CInt, format: Format, level: LogLevel) {
        self.format = format
        records = RecordQueue(descriptor: descriptor) { dropped in
            LineLogHandler.beginning(.warning, label: "notifyd", format)
                + "\(dropped) records were dropped here, because the log's output did not take them\n"
        }
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

    deinit { records.end() }

    package var level: LogLevel {
        get { LogLevel.allCases[currentLevel.load(ordering: .relaxed)] }
        set { currentLevel.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    /// Adds a record, which a thread writes soon. The record is dropped if too many wait for the output. Errors of
    /// writing are ignored.
    func write(_ line: String) { records.append(line) }

    /// Waits until all records are written, at most for `limit`.
    package func flush(within limit: Duration = .seconds(1)) { records.flush(within: limit) }

    private static func index(of level: LogLevel) -> Int {
        LogLevel.allCases.firstIndex(of: level) ?? 0
    }
}
