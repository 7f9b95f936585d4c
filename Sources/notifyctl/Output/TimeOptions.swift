import ArgumentParser
import Glibc

/// The options of commands that print times.
struct TimeOptions: ParsableArguments {
    /// The effect of the options, for the discussion of a command.
    static let discussion = """
        On a terminal, times are local, to the millisecond and with the zone's offset from UTC; with --utc, in JSON and \
        in a pipe or file they are in UTC.
        """

    @Flag(help: "Print times in UTC, also on a terminal.")
    var utc = false

    /// The style on standard output.
    var style: TimeStyle { .of(STDOUT_FILENO, isUTC: utc) }

    /// The style of notices and questions, on standard error.
    var noticeStyle: TimeStyle { .of(STDERR_FILENO, isUTC: utc) }
}
