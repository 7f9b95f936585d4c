import ArgumentParser
import Glibc

/// The part of a table that is printed.
enum TableStyle: Equatable, Sendable {
    /// Every column, and every cell in full.
    case full
    /// The columns that fit a terminal.
    ///
    /// - Parameter isWide: Whether the columns that are left out by default are shown, too.
    case fitting(columns: Int, isWide: Bool)

    /// The style on a descriptor: tables are fitted only on a terminal.
    static func of(_ descriptor: Int32, isWide: Bool) -> TableStyle {
        guard isatty(descriptor) == 1 else { return .full }
        return .fitting(columns: (Screen.of(descriptor) ?? .usual).columns, isWide: isWide)
    }
}

/// The options of commands that print tables.
struct TableOptions: ParsableArguments {
    /// The effect of the options, for the discussion of a command.
    static let discussion = """
        On a terminal, a table has the columns that are needed most, and long texts are shortened to fit; --wide shows \
        the other columns, too, and '…' at the end of the titles means that there are more. In a pipe or file, a table \
        is complete.
        """

    @Flag(help: "Print all columns, also on a terminal, as far as they fit.")
    var wide = false

    /// The style on standard output.
    var style: TableStyle { .of(STDOUT_FILENO, isWide: wide) }
}
