package import NotifySystem

/// The reason why the daemon cannot start or continue.
package typealias ServerError = DaemonError<ServerErrorCode>

/// What is wrong, for tests and for callers that handle some of the problems.
package enum ServerErrorCode: Sendable {
    /// A setting in an option, an environment variable or the configuration file is wrong.
    case configurationInvalid
    /// A configuration file or the policy directory cannot be read.
    case configurationUnreadable
    /// Another user owns or may write to a configuration file or the policy directory.
    case configurationUntrusted
    /// A directory of the daemon or the socket's lock file cannot be created or written, has the wrong type, or can
    /// be changed by another user.
    case directoryUnusable
    /// The socket's path is empty, too long or contains a NUL, or a file that is not a socket exists there.
    case socketPathUnusable
    /// Another process serves or locks the socket, or the existing socket cannot be probed.
    case socketInUse
    /// The socket can never accept connections again.
    case socketLost
    /// systemd's variables are malformed, or it passed something other than one listening Unix stream socket.
    case socketActivationInvalid
    /// The file system of the database is nearly full, or has less space free than `log.min_free_bytes`.
    case diskNearlyFull
    /// A system call failed for a reason that no other code covers.
    case systemCallFailed
}
