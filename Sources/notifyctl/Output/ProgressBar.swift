import Glibc
import Synchronization

/// Shows progress in one line on standard error, if that is a terminal.
final class ProgressBar: Sendable {
    private static let interval = Duration.milliseconds(250)
    private static let width = 40

    /// Whether the terminal shows a line of progress. Other output must erase it.
    static let isShown = Atomic(false)
    /// Returns to the start of the line, and erases it.
    static let erasure = "\r\u{1B}[K"

    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let shown = Mutex("")

    /// Shows a text in place of the previous one. A text that is too long for the terminal is cut.
    func show(_ text: String) {
        guard isTerminal else { return }
        let columns = (Screen.of(STDERR_FILENO) ?? .usual).columns
        shown.withLock { shown in
            guard text != shown else { return }
            shown = text
            write(Self.erasure + text.prefix(columns: columns - 1))
            Self.isShown.store(true, ordering: .relaxed)
        }
    }

    /// Shows how much of a total is done.
    func show(_ done: UInt64, of total: UInt64) {
        if let line = Self.line(done, of: total) { show(line) }
    }

    /// Shows a line repeatedly, until the task is cancelled.
    func keepShowing(_ line: @Sendable () -> String) async {
        guard isTerminal else { return }
        while (try? await Task.sleep(for: Self.interval)) != nil { show(line()) }
    }

    func clear() {
        shown.withLock { shown in
            guard !shown.isEmpty else { return }
            shown = ""
            if Self.isShown.exchange(false, ordering: .relaxed) { write(Self.erasure) }
        }
    }

    /// The line for a part of a total; nil for a total of 0.
    static func line(_ done: UInt64, of total: UInt64, width: Int = width) -> String? {
        guard total > 0 else { return nil }
        return "\(share(done, of: total, width: width)) \(Quantities.bytes(done)) of \(Quantities.bytes(total))"
    }

    /// A bar and the percentage of a part, such as `[##..]  50%`.
    ///
    /// - Parameter total: More than 0.
    static func share(_ done: UInt64, of total: UInt64, width: Int) -> String {
        let percent = Int(Double(min(done, total)) / Double(total) * 100)
        let filled = width * percent / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        let number = String(repeating: " ", count: 3 - "\(percent)".count) + "\(percent)"
        return "[\(bar)] \(number)%"
    }

    /// Writes to the terminal, unless its output is stopped, for example by Ctrl-S.
    private func write(_ text: String) {
        guard Blocking.poll([(STDERR_FILENO, Int32(POLLOUT))], isWaiting: false)[0] != 0 else { return }
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
