import ArgumentParser
import NotifyClient
import Synchronization

/// The options of every command that connects to the daemon.
struct ConnectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The path of the daemon's socket.", valueName: "path"), completion: .file())
    var socket: String?

    /// The configuration of a client that ends if its first attempt to connect fails, unless the backlog of the
    /// daemon's socket is full.
    func configuration() -> NotificationClient.Configuration {
        var configuration = NotificationClient.Configuration(socketPath: socket)
        configuration.requiresFirstConnection = true
        AnswerTimeout.lengthenLimits(of: &configuration)
        configuration.onSkippedSocket = Self.reportSkippedSocket
        return configuration
    }

    private static let skippedSockets = Mutex<Set<String>>([])

    /// Reports why the search for the daemon's socket has skipped a socket. Each reason is reported once.
    static func reportSkippedSocket(_ reason: String) {
        if skippedSockets.withLock({ $0.insert(reason).inserted }) { StandardError.write(reason) }
    }
}
