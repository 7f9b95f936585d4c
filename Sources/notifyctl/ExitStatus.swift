import NotifyClient

/// The exit statuses of notifyctl.
enum ExitStatus: Int32 {
    case success = 0
    case failure = 1
    case usage = 64
    case noDaemon = 69
    case refused = 77
    case timeout = 124
    /// The command of `work`, `wait` or `subscribe --exec` can't be started.
    case notStarted = 127

    init(_ error: NotifyError) {
        self =
            switch error.code {
            case .noDaemon, .notConnected: .noDaemon
            case .forbidden: .refused
            case .configurationInvalid: .failure
            case _ where error.isRefusal: .refused
            case .invalidName, .invalidPattern, .invalidObject, .invalidHeaders, .invalidSubscriptionName,
                .invalidArgument, .invalidSocketPath:
                .usage
            default: .failure
            }
    }
}

/// An error that ends the command with a status and, if set, one line on standard error.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String?

    init(_ status: ExitStatus, _ message: String? = nil) {
        self.status = status
        self.message = message
    }
}
