import Configuration
import NotifyBroker
import NotifyLog
import NotifyStore
import NotifySystem
import NotifyWire

/// The options given on the command line; `nil` for one that was not given.
package struct CommandLineOptions: Sendable {
    package var socket: String?
    package var database: String?
    package var configuration: String?
    package var logLevel: LogLevel?

    package init(
        socket: String? = nil, database: String? = nil, configuration: String? = nil, logLevel: LogLevel? = nil
    ) {
        self.socket = socket
        self.database = database
        self.configuration = configuration
        self.logLevel = logLevel
    }
}

/// The sources of the configuration, from the highest precedence to the lowest: options, environment, file, defaults.
///
/// Every source is checked as a whole, including values that another source overrides.
package struct ConfigurationSources: Sendable {
    private let options: CommandLineOptions
    private let context: ProcessContext
    private let defaults: DefaultPaths
    /// All settings. Tests replace them.
    var settings = ConfigurationSetting.all

    package init(options: CommandLineOptions, context: ProcessContext, defaults: DefaultPaths) {
        self.options = options
        self.context = context
        self.defaults = defaults
    }

    /// Reads all sources. The options and the environment are those of the daemon's start; the files may have changed
    /// since.
    package func load() throws(ServerError) -> ServerConfiguration {
        var configuration = ServerConfiguration(
            socketPath: defaults.socketPath, socketMode: 0, databasePath: defaults.databasePath ?? "")
        let file = try readFile()
        for layer in layers(file) {
            try layer.apply(settings, to: &configuration)
        }
        // No source can set 0, so 0 means that no source has set the mode.
        if configuration.socketMode == 0 {
            configuration.socketMode = defaults.socketMode(for: configuration.socketPath, context: context)
        }
        guard !configuration.databasePath.isEmpty else {
            throw ServerError(
                .configurationInvalid, "no home directory for the database: set HOME, or use --database PATH")
        }
        configuration.policy += try policyDirectoryRules(file)
        try checkTogether(configuration, file)
        return configuration
    }

    /// Checks constraints between settings.
    private func checkTogether(
        _ configuration: ServerConfiguration, _ file: ConfigurationFile?
    ) throws(ServerError) {
        if let problem = RetentionSettings.contradiction(configuration.store.retention) {
            throw file?.contradiction(["log.max_backlog", "log.max_bytes"], problem)
                ?? ServerError(.configurationInvalid, problem)
        }
        // Only the default path can be too long here, because the paths of the sources were checked when they were
        // read.
        let pathBytes = configuration.socketPath.utf8.count
        guard pathBytes <= UnixSocketAddress.maximumPathBytes else {
            throw ServerError(
                .configurationInvalid,
                "the socket path has \(pathBytes) bytes, at most \(UnixSocketAddress.maximumPathBytes) are possible: "
                    + "choose a shorter one with the setting socket or --socket")
        }
        let needed = configuration.broker.maximumPayloadBytes + Limits.frameOverheadBytes
        guard configuration.broker.receivedBytesPerUser < needed else { return }
        let problem =
            "limits.per_user.received_bytes is \(configuration.broker.receivedBytesPerUser): expected at least "
            + "\(needed), so that a message of limits.payload_bytes fits"
        throw file?.contradiction(["limits.per_user.received_bytes", "limits.payload_bytes"], problem)
            ?? ServerError(.configurationInvalid, problem)
    }

    /// The environment variables that begin with `NOTIFYD_` but name no setting, most likely because they are
    /// misspelled.
    package var unknownEnvironmentVariables: [String] {
        let variables = settings.filter { $0.type != nil }.map(\.environmentVariable)
        let known = Set(variables + [Self.configurationVariable])
        return context.environment.keys.filter { $0.hasPrefix("NOTIFYD_") && !known.contains($0) }.sorted()
    }

    private static let configurationVariable = "NOTIFYD_CONFIG"

    /// The sources in ascending order of precedence.
    private func layers(_ file: ConfigurationFile?) -> [ConfigurationLayer] {
        var layers: [ConfigurationLayer] = []
        if let file {
            let path = file.document.path
            let provider = InMemoryProvider(name: path, values: file.values)
            layers.append(ConfigurationLayer(provider, lists: file.lists) { "\(path): \($0.key)" })
        }
        // An empty variable counts as not set.
        let environment = context.environment.filter { $0.key.hasPrefix("NOTIFYD_") && !$0.value.isEmpty }
        let variables = EnvironmentVariablesProvider(environmentVariables: environment)
        layers.append(
            ConfigurationLayer(variables.prefixKeys(with: "notifyd")) { setting in
                let name = setting.environmentVariable
                return "the environment variable \(name)=\(environment[name] ?? "")"
            })
        layers.append(ConfigurationLayer(InMemoryProvider(name: "options", values: optionValues)) { "--\($0.key)" })
        return layers
    }

    /// The rules in `policy.d` beside the configuration file.
    private func policyDirectoryRules(_ file: ConfigurationFile?) throws(ServerError) -> [AccessRule] {
        guard let path = file?.document.path ?? defaults.configurationPath else { return [] }
        return try PolicyDirectory.rules(in: AccessProblem.directory(of: path) + "/policy.d")
    }

    private func readFile() throws(ServerError) -> ConfigurationFile? {
        if let named = options.configuration ?? context.variable(Self.configurationVariable) {
            return try ConfigurationFile.read(path: named, isRequired: true, settings: settings)
        }
        guard let path = defaults.configurationPath else { return nil }
        return try ConfigurationFile.read(path: path, isRequired: false, settings: settings)
    }

    private var optionValues: [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        values["socket"] = options.socket.map { ConfigValue(.string($0), isSecret: false) }
        values["database"] = options.database.map { ConfigValue(.string($0), isSecret: false) }
        values["log_level"] = options.logLevel.map { ConfigValue(.string($0.rawValue), isSecret: false) }
        return values
    }
}

/// One source of settings.
private struct ConfigurationLayer {
    let provider: any ConfigProvider
    /// The lists of records in this source, by the key of their setting.
    let lists: [String: RecordList.Assignment]
    /// Names a setting of this source in an error.
    let name: (ConfigurationSetting) -> String

    init(
        _ provider: any ConfigProvider, lists: [String: RecordList.Assignment] = [:],
        name: @escaping (ConfigurationSetting) -> String
    ) {
        self.provider = provider
        self.lists = lists
        self.name = name
    }

    /// Applies every setting that the source contains.
    ///
    /// Reads from the provider directly, because a `ConfigReader` would return a default for a value of the wrong type.
    func apply(
        _ settings: [ConfigurationSetting], to configuration: inout ServerConfiguration
    ) throws(ServerError) {
        for setting in settings {
            guard let type = setting.type else {
                lists[setting.key]?(&configuration)
                continue
            }
            let content: ConfigContent?
            do {
                let key = AbsoluteConfigKey(setting.components)
                content = try provider.value(forKey: key, type: type).value?.content
            } catch {
                throw invalid(setting)
            }
            guard let content else { continue }
            guard setting.apply(content, to: &configuration) else { throw invalid(setting) }
        }
    }

    private func invalid(_ setting: ConfigurationSetting) -> ServerError {
        ServerError(.configurationInvalid, "\(name(setting)): expected \(setting.expectation)")
    }
}
