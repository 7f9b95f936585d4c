import Glibc
import Logging
import NotifyBroker
import NotifySystem
import ServiceLifecycle
import UnixSignals

/// Runs the daemon process, from its options to its exit.
package enum Daemon {
    /// Runs until SIGTERM or SIGINT, drains, and returns.
    ///
    /// - Throws: ``ServerError`` for problems that an administrator can correct.
    package static func run(options: CommandLineOptions) async throws {
        MemoryTrimmer.configureMalloc()
        // Until the reloader handles SIGHUP, the signal would end the process.
        signal(SIGHUP, SIG_IGN)
        let context = ProcessContext.takeFromProcess()
        let defaults = DefaultPaths(for: context)
        let sources = ConfigurationSources(options: options, context: context, defaults: defaults)
        let configuration = try sources.load()
        let destination = LogDestination.standardError(for: context, level: configuration.logLevel)
        defer { destination.flush() }
        let logger = Logger(label: "notifyd") { LineLogHandler(label: $0, destination: destination) }
        for warning in unknownVariables(sources) { logger.warning("\(warning)") }
        if let problem = defaults.runtimeDirectoryProblem, configuration.socketPath == defaults.socketPath {
            logger.warning("\(problem)")
        }
        for warning in configuration.patternWarnings { logger.warning("\(warning)") }
        checkDescriptorLimit(configuration, logger)
        let notifier = ServiceManagerNotifier(context: context)
        let reloads = Reloads()
        let server = Server(
            configuration: configuration, context: context, defaults: defaults, notifier: notifier, logger: logger,
            reloads: reloads)
        let reloader = ConfigurationReloader(
            sources: sources, initial: configuration, destination: destination, notifier: notifier, logger: logger,
            reloads: reloads)
        try await serviceGroup(server, reloader, drain: configuration.drainDeadline, logger).run()
        logger.notice("stopped")
    }

    /// Reads and checks the configuration in the same way as the start of the daemon.
    ///
    /// - Returns: A line for the user, followed by warnings, each on a line of its own.
    /// - Throws: ``ServerError`` with the file and line of an error.
    package static func checkConfiguration(options: CommandLineOptions) throws(ServerError) -> String {
        let context = ProcessContext.takeFromProcess()
        let sources = ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
        let configuration = try sources.load()
        let summary =
            "the configuration is valid; rules of the policy besides the default ones: \(configuration.policy.count)"
        let warnings = unknownVariables(sources) + configuration.patternWarnings
        return ([summary] + warnings.map { "warning: \($0)" }).joined(separator: "\n")
    }

    private static func unknownVariables(_ sources: ConfigurationSources) -> [String] {
        sources.unknownEnvironmentVariables.map { "unknown environment variable \($0) ignored: see notifyd --help" }
    }

    private static func serviceGroup(
        _ server: Server, _ reloader: ConfigurationReloader, drain: Duration, _ logger: Logger
    ) -> ServiceGroup {
        // The service group logs no messages below warning, because its lifecycle messages would repeat the daemon's.
        var groupLogger = logger
        groupLogger.logLevel = max(logger.logLevel, .warning)
        var configuration = ServiceGroupConfiguration(
            services: [.init(service: server), .init(service: reloader)],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: groupLogger)
        // The server enforces the deadline itself. This limit applies if the server hangs.
        configuration.maximumGracefulShutdownDuration = drain + .seconds(5)
        return ServiceGroup(configuration: configuration)
    }

    private static func checkDescriptorLimit(_ configuration: ServerConfiguration, _ logger: Logger) {
        let limit = DescriptorLimit.raise()
        // 64 descriptors are reserved for the database, the log and the event loop.
        guard limit < configuration.broker.connections + 64 else { return }
        logger.debug(
            "at most \(limit) files may be open, too few for the \(configuration.broker.connections) connections allowed"
        )
    }
}
