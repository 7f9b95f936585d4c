import ArgumentParser
import Glibc

/// A question before something is deleted.
enum Question {
    /// - Throws: `ValidationError` if standard input is not a terminal, so that no answer is possible.
    static func checkTerminal() throws {
        guard isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("standard input is not a terminal to ask on; give --yes to delete without asking")
        }
    }

    /// Asks on the terminal.
    ///
    /// - Throws: `CommandFailure` if the answer is not "yes", or if the question can't be written.
    static func confirm(_ question: String) throws {
        guard StandardError.wasWritten("\(question) Answer 'yes' to delete them.") else {
            throw CommandFailure(.failure, "can't ask: standard error can't be written; nothing was deleted")
        }
        guard readLine() == "yes" else { throw CommandFailure(.failure, "nothing was deleted") }
    }
}
