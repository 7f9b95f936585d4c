import Glibc
import Synchronization

/// Shows progress in one line on standard error, if that is a terminal.
final class ProgressBar: Sendable {
    private static let width = 40

    private let isTerminal = isatty(STDERR_FILENO) == 1
    /// The percentage on the terminal; -1 if the line is empty, 101 for a text.
    private let shown = Atomic<Int>(-1)

    /// Shows what is being done, before there is progress.
    func show(_ text: String) {
        if isTerminal, shown.exchange(101, ordering: .relaxed) != 101 { write("\r\(text)\u{1B}[K") }
    }

    /// Shows the part that is done, if its percentage has changed.
    func show(_ done: UInt64, of total: UInt64) {
        guard isTerminal, let line = Self.line(done, of: total) else { return }
        guard shown.exchange(line.percent, ordering: .relaxed) != line.percent else { return }
        write("\r\(line.text)\u{1B}[K")
    }

    func clear() {
        if shown.exchange(-1, ordering: .relaxed) >= 0 { write("\r\u{1B}[K") }
    }

    /// The line for a part of a total; nil for a total of 0.
    static func line(_ done: UInt64, of total: UInt64) -> (percent: Int, text: String)? {
        guard total > 0 else { return nil }
        let percent = Int(Double(min(done, total)) / Double(total) * 100)
        let filled = width * percent / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        let number = String(repeating: " ", count: 3 - "\(percent)".count) + "\(percent)"
        return (percent, "[\(bar)] \(number)% \(Quantities.bytes(done)) of \(Quantities.bytes(total))")
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
