package import Logging
import ServiceLifecycle
import UnixSignals

/// Reads the configuration again on SIGHUP.
///
/// The log level takes effect at once. Other settings are checked and named in the log, and wait for the next start. A
/// file with an error changes nothing, and both the log and `systemctl status` say so.
package struct ConfigurationReloader: Service {
    private let sources: ConfigurationSources
    private let initial: ServerConfiguration
    private let destination: LogDestination
    private let notifier: ServiceManagerNotifier
    private let logger: Logger
    private let onReload: @Sendable () -> Void

    /// - Parameter onReload: called after each reload, whether or not the configuration was in order.
    package init(
        sources: ConfigurationSources, initial: ServerConfiguration, destination: LogDestination,
        notifier: ServiceManagerNotifier, logger: Logger,
        onReload: @escaping @Sendable () -> Void = {}
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
            onReload()
        }
    }

    /// - Returns: whether the configuration was in order.
    @discardableResult
    package func reload() -> Bool {
        let configuration: ServerConfiguration
        do throws(ServerError) {
            configuration = try sources.load()
        } catch {
            logger.error("configuration not reloaded, the old one stays: \(error)")
            notifier.status("running with the old configuration: \(error)")
            return false
        }
        destination.level = configuration.logLevel
        logger.notice("configuration reloaded", metadata: ["log_level": "\(configuration.logLevel.rawValue)"])
        let waiting = Self.settingsForNextStart(initial, configuration)
        if !waiting.isEmpty {
            logger.warning("settings that take effect at the next start: \(waiting.joined(separator: ", "))")
        }
        notifier.status("running, configuration reloaded")
        return true
    }

    /// Changed settings that the running daemon does not take over.
    static func settingsForNextStart(_ running: ServerConfiguration, _ loaded: ServerConfiguration) -> [String] {
        ConfigurationSetting.all.filter { !$0.takesEffectOnReload && $0.differs(running, loaded) }.map(\.key)
    }
}
