package import Logging
import ServiceLifecycle
import UnixSignals

/// Reloads the configuration on SIGHUP.
///
/// Log level, policy and most limits take effect at once; see ``ConfigurationSetting/takesEffectOnReload``. Other
/// settings are checked, listed in the log if they have changed, and take effect at the next start. A configuration
/// with an error changes nothing; the log and `systemctl status` report it.
package struct ConfigurationReloader: Service {
    private let sources: ConfigurationSources
    private let initial: ServerConfiguration
    private let destination: LogDestination
    private let notifier: ServiceManagerNotifier
    private let logger: Logger
    private let onReload: @Sendable (ServerConfiguration?) -> Void

    /// - Parameter onReload: Called after each reload with the new configuration, or with `nil` if it was invalid.
    package init(
        sources: ConfigurationSources, initial: ServerConfiguration, destination: LogDestination,
        notifier: ServiceManagerNotifier, logger: Logger,
        onReload: @escaping @Sendable (ServerConfiguration?) -> Void = { _ in }
    ) {
        self.sources = sources
        self.initial = initial
        self.destination = destination
        self.notifier = notifier
        self.logger = logger
        self.onReload = onReload
    }

    package func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() {
            reload()
        }
    }

    /// - Returns: `true` if the configuration was valid.
    @discardableResult
    package func reload() -> Bool {
        let configuration: ServerConfiguration
        do throws(ServerError) {
            configuration = try sources.load()
        } catch {
            logger.error("configuration not reloaded, the previous one remains in effect: \(error)")
            notifier.status("running with the previous configuration: \(error)")
            onReload(nil)
            return false
        }
        destination.level = configuration.logLevel
        logger.notice("configuration reloaded", metadata: ["log_level": "\(configuration.logLevel.rawValue)"])
        let waiting = Self.settingsForNextStart(initial, configuration)
        if !waiting.isEmpty {
            logger.warning("settings that take effect at the next start: \(waiting.joined(separator: ", "))")
        }
        onReload(configuration)
        notifier.status("running, configuration reloaded")
        return true
    }

    /// The keys of changed settings that take effect only at the next start.
    static func settingsForNextStart(_ running: ServerConfiguration, _ loaded: ServerConfiguration) -> [String] {
        ConfigurationSetting.all.filter { !$0.takesEffectOnReload && $0.differs(running, loaded) }.map(\.key)
    }
}
