package import Logging
package import Metrics
import NotifyBroker
import NotifySystem
import ServiceLifecycle

/// The daemon as a service: opens the socket, serves until a graceful shutdown, and removes the socket's file, unless
/// systemd has opened the socket.
package struct Server: Service {
    let configuration: ServerConfiguration
    let context: ProcessContext
    let defaults: DefaultPaths
    let notifier: ServiceManagerNotifier
    let logger: Logger
    let reloads: Reloads
    let metrics: any MetricsFactory
    private let onRunning: @Sendable (_ socketPath: String) -> Void
    /// The clock of deadlines and stamps, which tests replace.
    var clock: @Sendable () -> BrokerTime = { .now() }

    /// - Parameters:
    ///   - reloads: Passes on requested reloads and new configurations.
    ///   - metrics: The backend that receives the daemon's figures, every 10 seconds and at the end.
    ///   - onRunning: Called once clients can connect.
    package init(
        configuration: ServerConfiguration, context: ProcessContext, defaults: DefaultPaths,
        notifier: ServiceManagerNotifier, logger: Logger, reloads: Reloads = Reloads(),
        metrics: any MetricsFactory = MetricsSystem.factory,
        onRunning: @escaping @Sendable (_ socketPath: String) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.context = context
        self.defaults = defaults
        self.notifier = notifier
        self.logger = logger
        self.reloads = reloads
        self.metrics = metrics
        self.onRunning = onRunning
    }

    /// Serves until a graceful shutdown, then drains.
    ///
    /// - Throws: ``ServerError`` or `StoreError` if the daemon cannot start or continue.
    package func run() async throws {
        let listening = try openListeningSocket()
        // The file of a socket that was opened here is removed last, even after an error. Until then, the lock keeps
        // other daemons from using the path.
        defer { listening.removeFile() }
        try prepareDatabaseDirectory()
        try await serve(listening)
    }

    /// Reports that clients can connect: to the log, the service manager and `onRunning`.
    func reportReady(_ listening: ListeningSocket) {
        logger.notice("listening on \(listening.path)", metadata: ["database": "\(configuration.databasePath)"])
        if notifier.isActive, !notifier.ready(status: "listening on \(listening.path)") {
            logger.warning("could not notify the service manager that notifyd is ready")
        }
        onRunning(listening.path)
    }

    private func openListeningSocket() throws(ServerError) -> ListeningSocket {
        if let passed = try SocketActivation.claim(for: context) {
            let listening = ListeningSocket(fromServiceManager: passed)
            if listening.path != configuration.socketPath {
                logger.notice("using systemd's socket \(listening.path) instead of \(configuration.socketPath)")
            }
            return listening
        }
        if configuration.socketPath == defaults.socketPath {
            try defaults.socketDirectory.prepare(owner: context.userID, purpose: "socket")
        }
        return try ListeningSocket.bind(path: configuration.socketPath, mode: configuration.socketMode)
    }

    /// Creates the directory of the database if the path of the database is the default. A missing directory in a
    /// configured path is more likely a typo.
    private func prepareDatabaseDirectory() throws(ServerError) {
        guard configuration.databasePath == defaults.databasePath else { return }
        try defaults.databaseDirectory?.prepare(owner: context.userID, purpose: "database")
    }
}
