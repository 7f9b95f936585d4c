import Glibc
import Synchronization

/// The terminal of this process, for a command that uses the whole screen. Safe to use from any thread.
final class Terminal: Sendable {
    private struct State {
        /// The settings to restore; nil while they are in force.
        var original: termios?
        /// Whether the alternate screen is shown.
        var isScreenEntered = false
    }

    // The alternate screen, without a cursor and without wrapping of long lines.
    private static let enterSequence = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    private static let leaveSequence = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    private let input: Int32
    private let output: Int32
    private let state = Mutex(State())

    /// Makes the terminal at these descriptors. Fails if one of them is not a terminal, or if the terminal can't move
    /// its cursor.
    ///
    /// - Parameter kind: The value of `TERM`; nil for the variable of this process.
    init?(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, kind: String? = nil) {
        guard isatty(input) == 1, isatty(output) == 1, !["", "dumb"].contains(kind ?? Self.environmentKind) else {
            return nil
        }
        self.input = input
        self.output = output
    }

    private static var environmentKind: String {
        guard let kind = getenv("TERM") else { return "" }
        return String(cString: kind)
    }

    var size: Screen { Screen.of(output) ?? .usual }

    /// Switches the terminal to input that arrives key by key and is not echoed. Keys such as Ctrl-C still send
    /// signals. May be called again, in case another program has changed the terminal meanwhile.
    func takeKeys() {
        _ = state.withLock { takeKeys(&$0) }
    }

    /// Takes keys, and switches to the alternate screen. May be called again, as ``takeKeys()``.
    func enter() {
        state.withLock { state in
            guard takeKeys(&state) else { return }
            state.isScreenEntered = true
            write(Self.enterSequence)
        }
    }

    @discardableResult
    private func takeKeys(_ state: inout State) -> Bool {
        var settings = termios()
        guard tcgetattr(input, &settings) == 0 else { return false }
        if state.original == nil { state.original = settings }
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        // Ctrl-S must not stop the output.
        settings.c_iflag &= ~tcflag_t(IXON)
        tcsetattr(input, TCSADRAIN, &settings)
        return true
    }

    /// Restores the screen and the settings. Does nothing if neither was changed.
    func leave() {
        state.withLock { state in
            guard var original = state.original.take() else { return }
            // Discards unread input, which was not meant for the shell. The screen is left afterwards, so that input
            // typed when the shell is visible again is kept.
            tcsetattr(input, TCSAFLUSH, &original)
            if state.isScreenEntered { write(Self.leaveSequence) }
            state.isScreenEntered = false
        }
    }

    private func write(_ text: String) {
        // A terminal that accepts no output must not keep the command from ending.
        guard Blocking.poll([(output, Int32(POLLOUT))], isWaiting: false)[0] & Int32(POLLOUT) != 0 else { return }
        let bytes = Array(text.utf8)
        _ = Glibc.write(output, bytes, bytes.count)
    }
}
