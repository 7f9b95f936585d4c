import Glibc
import SystemPackage

extension NotifyError {
    /// The failure to connect to the socket at a path.
    static func cannotConnect(to path: String, _ error: Errno) -> NotifyError {
        switch error {
        case .connectionRefused where isOtherFile(path):
            NotifyError(.noDaemon, "\(path) is not a socket", cause: error)
        case .noSuchFileOrDirectory, .connectionRefused:
            NotifyError(
                .noDaemon,
                "notifyd does not listen on \(path); start it, or connect to the socket on which it listens",
                cause: error)
        case .resourceTemporarilyUnavailable:
            NotifyError(
                .noDaemon, "the connection backlog of \(path) is full; check that notifyd responds",
                cause: error)
        case .permissionDenied, .notPermitted:
            NotifyError(.forbidden, "this user is not allowed to connect to \(path)", cause: error)
        default:
            NotifyError(.noDaemon, "can't connect to \(path): \(error)", cause: error)
        }
    }

    /// Whether a file that is not a socket is at the path.
    private static func isOtherFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFSOCK
    }
}
