/// Why the daemon cannot start or go on. The message is one line that says what is wrong and what to do about it.
package struct ServerError: Error, Sendable {
    package enum Code: String, Sendable {
        /// A setting in an option, an environment variable or the configuration file is wrong.
        case configurationInvalid
        /// The configuration file cannot be read.
        case configurationUnreadable
        /// A folder of the daemon's cannot be made, is not a folder, or belongs to somebody else.
        case folderUnusable
        /// The socket's path is too long, or holds something that is not a socket.
        case socketPathUnusable
        /// Another process serves the socket.
        case socketInUse
        /// The socket accepts no more connections, for good.
        case socketLost
        /// What systemd passed is not one listening Unix stream socket.
        case socketActivationInvalid
        /// The kernel refused a call for a reason that no other code names.
        case systemCallFailed
    }

    package let code: Code
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension ServerError: CustomStringConvertible {
    package var description: String {
        guard let cause else { return message }
        return "\(message) (\(cause))"
    }
}
