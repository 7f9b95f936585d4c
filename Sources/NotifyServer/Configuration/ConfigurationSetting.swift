import Configuration
import Glibc
import NotifyBroker
import NotifyLog
import NotifyStore
import NotifySystem
import NotifyUnits
import NotifyWire

/// A setting: its key, the values it accepts, and the property of ``ServerConfiguration`` that it sets.
struct ConfigurationSetting: Sendable {
    /// The path of keys in the configuration file. The environment variable is `NOTIFYD_` followed by the same keys in
    /// capitals, joined by underscores.
    let components: [String]
    let target: Target

    typealias Path<Value> = any WritableKeyPath<ServerConfiguration, Value> & Sendable

    enum Target: Sendable {
        case path(Path<String>)
        /// A path whose bytes fit the address of a socket.
        case socketPath(Path<String>)
        case permissions(Path<mode_t>)
        case logLevel(Path<LogLevel>)
        /// `true` or `false`.
        case boolean(Path<Bool>)
        case integer(Path<Int>, ClosedRange<Int>)
        case window(Path<UInt32>, ClosedRange<UInt32>)
        case seconds(Path<Duration>, ClosedRange<Double>)
        case size(Path<Int>, ClosedRange<UInt64>)
        case sizeLimit(Path<UInt64?>, ClosedRange<UInt64>)
        /// A number, or `unlimited`.
        case rate(Path<Int?>, ClosedRange<Int>)
        /// A size in bytes, or `automatic` for the default share of the machine's memory.
        case memory(Path<Int>, ClosedRange<UInt64>)
        /// A number, a number with a unit, or a word. The setting has its own parser.
        case quantity(QuantitySetting)
        /// A list of records. It can be set only in the configuration file.
        case records(RecordList)
    }

    init(_ key: String, _ target: Target) {
        components = key.split(separator: ".").map(String.init)
        self.target = target
    }

    static let all: [ConfigurationSetting] = [
        .init("socket", .socketPath(\.socketPath)),
        .init("socket_mode", .permissions(\.socketMode)),
        .init("database", .path(\.databasePath)),
        .init("log_level", .logLevel(\.logLevel)),
        .init("presence", .boolean(\.broker.postsPresence)),
        .init("policy", .records(PolicyRules.list)),
        .init("log.max_bytes", .sizeLimit(\.store.retention.maximumBytes, RetentionSettings.sizes)),
        .init("log.min_free_bytes", .quantity(RetentionSettings.minimumFreeBytes)),
        .init("log.max_backlog", .quantity(RetentionSettings.maximumBacklog)),
        .init("log.retention", .records(RetentionSettings.rules)),
        .init("log.expire_subscriptions", .quantity(RetentionSettings.subscriptionExpiry)),
        .init("log.checkpoint_bytes", .size(\.store.checkpointBytes, (64 << 10)...(1 << 30))),
        .init("limits.memory_bytes", .memory(\.broker.memoryBytes, (16 << 20)...(1 << 40))),
        .init("limits.connections", .integer(\.broker.connections, 1...1_000_000)),
        .init("limits.payload_bytes", .size(\.broker.maximumPayloadBytes, 0...UInt64(Limits.maximumPayloadBytes))),
        .init("limits.per_user.connections", .integer(\.broker.connectionsPerUser, 1...1_000_000)),
        .init("limits.per_user.subscriptions", .integer(\.broker.subscriptionsPerUser, 1...100_000_000)),
        .init("limits.per_user.durable_subscriptions", .integer(\.broker.durableSubscriptionsPerUser, 0...1_000_000)),
        .init("limits.per_user.subscription_bytes", .size(\.broker.subscriptionBytesPerUser, bytes)),
        .init("limits.per_user.pattern_overlap", .integer(\.broker.patternOverlapPerUser, 64...1_000_000_000)),
        .init("limits.per_user.names", .integer(\.broker.namesPerUser, 1...100_000_000)),
        .init("limits.per_user.outbox_bytes", .size(\.broker.outboxBytesPerUser, bytes)),
        .init("limits.per_user.requests", .integer(\.broker.requestsPerUser, 1...1_000_000)),
        .init("limits.per_user.request_bytes", .size(\.broker.requestBytesPerUser, bytes)),
        .init("limits.per_user.values", .integer(\.broker.valuesPerUser, 0...10_000_000)),
        .init("limits.per_user.value_bytes", .size(\.broker.valueBytesPerUser, bytes)),
        .init("limits.per_user.received_bytes", .size(\.broker.receivedBytesPerUser, bytes)),
        .init("limits.per_user.posts_per_second", .rate(\.broker.userLimits.general.postsPerSecond, 1...100_000_000)),
        .init(
            "limits.per_user.connects_per_second",
            .rate(\.broker.userLimits.general.connectsPerSecond, 1...1_000_000)),
        .init(
            "limits.per_user.stored_bytes",
            .sizeLimit(\.broker.userLimits.general.storedBytes, storedBytes)),
        .init("limits.users", .records(UserLimitRecords.list)),
        .init("limits.per_connection.subscriptions", .integer(\.broker.subscriptionsPerConnection, 1...100_000_000)),
        .init("limits.per_connection.outbox_bytes", .size(\.broker.outboxBytesPerConnection, 4096...(1 << 30))),
        .init("limits.per_connection.post_window", .integer(\.broker.postWindow, 1...1_000_000)),
        .init("limits.per_connection.durable_window", .window(\.broker.defaultWindow, 1...Limits.maximumWindow)),
        .init("timeouts.drain_seconds", .seconds(\.drainDeadline, 0...3600)),
        .init("timeouts.greeting_seconds", .seconds(\.broker.greetingTimeout, 0.1...3600)),
    ]

    /// The range of the per-user limits of memory: from one page, the smallest usable value, to 64 GiB.
    private static let bytes: ClosedRange<UInt64> = 4096...(64 << 30)

    /// The range of a user's limit of stored bytes: from one page to the highest value of `log.max_bytes`.
    static let storedBytes: ClosedRange<UInt64> = 4096...RetentionSettings.sizes.upperBound

    var key: String { components.joined(separator: ".") }

    var environmentVariable: String { "NOTIFYD_" + components.joined(separator: "_").uppercased() }

    /// The type to request from a configuration provider: text, which this type parses. `nil` for records, which
    /// providers do not support.
    var type: ConfigType? {
        switch target {
        case .records: nil
        default: .string
        }
    }

    /// Whether the value in a file may be a number, a number with a unit, or a word such as `unlimited`.
    var isQuantity: Bool {
        switch target {
        case .size, .sizeLimit, .memory, .rate, .seconds, .quantity: true
        default: false
        }
    }

    /// Whether the value in a file must be a boolean.
    var isBoolean: Bool {
        if case .boolean = target { true } else { false }
    }

    /// Whether the value in a file must be an integer.
    var isCount: Bool {
        switch target {
        case .integer, .window: true
        default: false
        }
    }

    /// Whether a reload applies the setting to the running daemon. True for the log level, presence, the policy, the log
    /// and the limits, except for the checkpoint size and the limits that the daemon announces to a connecting client.
    var takesEffectOnReload: Bool {
        switch key {
        case "log_level", "presence", "policy": true
        case "log.checkpoint_bytes", "limits.payload_bytes", "limits.per_connection.post_window": false
        default: components.first == "log" || components.first == "limits"
        }
    }

    /// Describes a valid value, for the error about an invalid one.
    var expectation: String {
        switch target {
        case .path: "a path, absolute in a file"
        case .socketPath:
            "a path of at most \(UnixSocketAddress.maximumPathBytes) bytes, absolute in a file"
        case .permissions: "\"0600\" to \"0777\", permissions in octal, in quotes in a file"
        case .logLevel: "one of \(LogLevel.names)"
        case .boolean: "true or false"
        case .integer(_, let range): "an integer from \(range.lowerBound) to \(range.upperBound)"
        case .window(_, let range): "an integer from \(range.lowerBound) to \(range.upperBound)"
        case .seconds(_, let range):
            Quantity.expectation(of: .seconds(range.lowerBound)...Duration.seconds(range.upperBound))
        case .size(_, let range): Quantity.expectation(ofBytes: range)
        case .sizeLimit(_, let range): "\(Quantity.expectation(ofBytes: range)), or \(Self.unlimited)"
        case .rate(_, let range):
            "an integer from \(range.lowerBound) to \(range.upperBound), or \(Self.unlimited)"
        case .memory(_, let range): "\(Quantity.expectation(ofBytes: range)), or \(Self.automatic)"
        case .quantity(let quantity): quantity.expectation
        case .records(let list): list.expectation
        }
    }

    /// The value of a limit that means no limit.
    private static let unlimited = "unlimited"
    /// The value that means the default share of the machine's memory.
    private static let automatic = "automatic"

    /// Sets the value in the configuration.
    ///
    /// - Returns: `false` if the value is invalid; the configuration is then unchanged.
    func apply(_ content: ConfigContent, to configuration: inout ServerConfiguration) -> Bool {
        switch (target, content) {
        case (.path(let path), .string(let text)) where !text.isEmpty && !text.utf8.contains(0):
            configuration[keyPath: path] = text
        case (.socketPath(let path), .string(let text)) where !text.isEmpty && !text.utf8.contains(0):
            guard text.utf8.count <= UnixSocketAddress.maximumPathBytes else { return false }
            configuration[keyPath: path] = text
        case (.permissions(let path), .string(let text)):
            guard let mode = mode_t(text, radix: 8), (0o600...0o777).contains(mode) else { return false }
            configuration[keyPath: path] = mode
        case (.logLevel(let path), .string(let text)):
            guard let level = LogLevel(rawValue: text) else { return false }
            configuration[keyPath: path] = level
        case (.boolean(let path), .string(let text)):
            guard let value = Bool(text) else { return false }
            configuration[keyPath: path] = value
        case (.integer(let path, let range), .string(let text)):
            guard let number = Quantity.count(text), range.contains(number) else { return false }
            configuration[keyPath: path] = number
        case (.window(let path, let range), .string(let text)):
            guard let number = Quantity.count(text).map(UInt32.init(clamping:)), range.contains(number) else {
                return false
            }
            configuration[keyPath: path] = number
        case (.seconds(let path, let range), .string(let text)):
            guard let duration = Quantity.duration(text), range.contains(duration / .seconds(1)) else { return false }
            configuration[keyPath: path] = duration
        case (.size(let path, let range), .string(let text)):
            guard let bytes = Quantity.bytes(text), range.contains(bytes) else { return false }
            configuration[keyPath: path] = Int(bytes)
        case (.sizeLimit(let path, _), .string(Self.unlimited)):
            configuration[keyPath: path] = nil
        case (.sizeLimit(let path, let range), .string(let text)):
            guard let bytes = Quantity.bytes(text), range.contains(bytes) else { return false }
            configuration[keyPath: path] = bytes
        case (.rate(let path, _), .string(Self.unlimited)):
            configuration[keyPath: path] = nil
        case (.rate(let path, let range), .string(let text)):
            guard let number = Quantity.count(text), range.contains(number) else { return false }
            configuration[keyPath: path] = number
        case (.memory(let path, _), .string(Self.automatic)):
            configuration[keyPath: path] = ServerConfiguration.automaticMemoryBytes
        case (.memory(let path, let range), .string(let text)):
            guard let bytes = Quantity.bytes(text), range.contains(bytes) else { return false }
            configuration[keyPath: path] = Int(bytes)
        case (.quantity(let quantity), .string(let text)):
            return quantity.apply(text, to: &configuration)
        default:
            return false
        }
        return true
    }

    private var isPath: Bool {
        switch target {
        case .path, .socketPath: true
        default: false
        }
    }

    /// Whether the value is allowed in a file. Paths must be absolute there, because a relative path would depend on
    /// the working directory of the daemon.
    func isAllowedInFile(_ content: ConfigContent) -> Bool {
        guard isPath, case .string(let text) = content else { return true }
        return text.hasPrefix("/")
    }

    /// Whether two configurations differ in this setting.
    func differs(_ left: ServerConfiguration, _ right: ServerConfiguration) -> Bool {
        switch target {
        case .path(let path), .socketPath(let path): left[keyPath: path] != right[keyPath: path]
        case .permissions(let path): left[keyPath: path] != right[keyPath: path]
        case .logLevel(let path): left[keyPath: path] != right[keyPath: path]
        case .boolean(let path): left[keyPath: path] != right[keyPath: path]
        case .integer(let path, _): left[keyPath: path] != right[keyPath: path]
        case .window(let path, _): left[keyPath: path] != right[keyPath: path]
        case .seconds(let path, _): left[keyPath: path] != right[keyPath: path]
        case .size(let path, _): left[keyPath: path] != right[keyPath: path]
        case .sizeLimit(let path, _): left[keyPath: path] != right[keyPath: path]
        case .rate(let path, _): left[keyPath: path] != right[keyPath: path]
        case .memory(let path, _): left[keyPath: path] != right[keyPath: path]
        case .quantity(let quantity): quantity.differs(left, right)
        case .records(let list): list.differs(left, right)
        }
    }
}
