/// A reason for which the daemon can't start, continue, or do what its command line asks for: a code, and a message for
/// the administrator. The codes belong to the module that throws the error.
package struct DaemonError<Code: Sendable>: Error {
    package let code: Code
    /// One line that states the problem and how to correct it.
    package let message: String

    /// - Parameter cause: An error that the message does not describe. It is added to the message in parentheses.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = cause.map { "\(message) (\($0))" } ?? message
    }
}

extension DaemonError: CustomStringConvertible {
    package var description: String { message }
}
