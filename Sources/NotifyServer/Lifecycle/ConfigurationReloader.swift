package import Logging
import NotifySystem
import ServiceLifecycle
import UnixSignals

/// Reloads the configuration on SIGHUP and when a client requests it.
///
/// Log level, policy, retention and most limits take effect at once; see ``ConfigurationSetting/takesEffectOnReload``.
/// Other settings are checked, listed in the log if they have changed, and take effect at the next start. A
/// configuration with an error changes nothing; the log and `systemctl status` report the error.
package struct ConfigurationReloader: Service {
    private let sources: ConfigurationSources
    private let initial: ServerConfiguration
    private let destination: LogDestination
    private let notifier: ServiceManagerNotifier
    private let logger: Logger
    private let reloads: Reloads

    package init(
        sources: ConfigurationSources, initial: ServerConfiguration, destination: LogDestination,
        notifier: ServiceManagerNotifier, logger: Logger, reloads: Reloads = Reloads()
    ) {
        self.sources = sources
        self.initial = initial
        self.destination = destination
        self.notifier = notifier
        self.logger = logger
        self.reloads = reloads
    }

    package func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        try await withThrowingTaskGroup(of: Void.self) { [reloads] group in
            group.addTask {
                for await _ in signals.cancelOnGracefulShutdown() { reloads.request() }
            }
            for await reply in reloads.requests.cancelOnGracefulShutdown() {
                let outcome = reload()
                reply?(outcome)
            }
            try await group.waitForAll()
        }
    }

    @discardableResult
    package func reload() -> ReloadOutcome {
        let configuration: ServerConfiguration
        do throws(ServerError) {
            configuration = try sources.load()
        } catch {
            logger.error("configuration not reloaded, the previous one remains in effect: \(error)")
            notifier.status("running with the previous configuration: \(error)")
            reloads.reloaded(nil, problem: "\(error)")
            return .invalid("\(error)")
        }
        destination.level = configuration.logLevel
        logger.notice("configuration reloaded", metadata: ["log_level": "\(configuration.logLevel.rawValue)"])
        let waiting = Self.settingsForNextStart(initial, configuration)
        if !waiting.isEmpty {
            logger.warning("settings that take effect at the next start: \(waiting.joined(separator: ", "))")
        }
        for warning in configuration.patternWarnings { logger.warning("\(warning)") }
        reloads.reloaded(configuration)
        notifier.status("running, configuration reloaded")
        return .applied(pendingSettings: waiting)
    }

    /// The keys of changed settings that take effect only at the next start.
    static func settingsForNextStart(_ running: ServerConfiguration, _ loaded: ServerConfiguration) -> [String] {
        ConfigurationSetting.all.filter { !$0.takesEffectOnReload && $0.differs(running, loaded) }.map(\.key)
    }
}
