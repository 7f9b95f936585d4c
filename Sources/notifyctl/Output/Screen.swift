import Glibc

/// The size of a terminal, in characters.
struct Screen: Equatable, Sendable {
    /// The size of a terminal that does not report its own.
    static let usual = Screen(rows: 24, columns: 80)

    var rows: Int
    var columns: Int

    /// The size of the terminal at a descriptor; nil if the size is unknown.
    static func of(_ descriptor: Int32) -> Screen? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return nil }
        return Screen(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }
}
