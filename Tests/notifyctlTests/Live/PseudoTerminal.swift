import Glibc
import Testing

/// A terminal for a test. Writing to `screen` types on the terminal, and reading from it returns the terminal's output.
final class PseudoTerminal: Sendable {
    let screen: Int32
    /// The terminal as a program sees it.
    let terminal: Int32

    init() throws {
        screen = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(screen >= 0)
        // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
        var (lock, number): (Int32, UInt32) = (0, 0)
        try #require(ioctl(screen, 0x4004_5431, &lock) == 0)
        try #require(ioctl(screen, 0x8004_5430, &number) == 0)
        terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
    }

    deinit {
        close(screen)
        close(terminal)
    }

    var settings: termios {
        var settings = termios()
        tcgetattr(terminal, &settings)
        return settings
    }

    func resize(rows: UInt16, columns: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(screen, UInt(TIOCSWINSZ), &size)
    }

    /// The output of the program since the last call. Waits for at least one byte.
    func shown() -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(screen, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(screen, bytes, bytes.count)
    }
}
