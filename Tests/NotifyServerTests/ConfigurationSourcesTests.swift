import Glibc
import NotifyBroker
import NotifyLog
import NotifyStore
import NotifySystem
import NotifyWire
import Testing
import TestSupport

@testable import NotifyServer

@Suite struct ConfigurationSourcesTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func sources(
        _ options: CommandLineOptions = CommandLineOptions(), environment: [String: String] = [:], user: UInt32 = 1000
    ) -> ConfigurationSources {
        let base = ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.file("run")]
        let context = context(user: user, base.merging(environment) { $1 })
        return ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
    }

    @Test func `without any source, the defaults apply`() throws {
        let configuration = try sources().load()
        #expect(configuration.socketPath == folder.file("run/notifyd/notifyd.sock"))
        #expect(configuration.databasePath == folder.file(".local/state/notifyd/notifyd.db"))
        #expect(configuration.socketMode == 0o600)
        #expect(configuration.logLevel == .info)
        #expect(configuration.broker == BrokerConfiguration())
        #expect(configuration.broker.maximumPayloadBytes == 1_048_576)
        #expect(configuration.broker.defaultWindow == 256)
    }

    @Test func `the defaults are consistent`() throws {
        let configuration = try sources().load()
        #expect(configuration.broker.connectionsPerUser <= configuration.broker.connections)
        #expect(configuration.broker.subscriptionsPerConnection <= configuration.broker.subscriptionsPerUser)
        #expect(configuration.broker.outboxBytesPerConnection <= configuration.broker.outboxBytesPerUser)
    }

    @Test func `the limit of received bytes must admit the largest message`() throws {
        let payload = ["NOTIFYD_LIMITS_PAYLOAD_BYTES": "100000"]
        func load(halfReceived: Int) throws {
            let other = ["NOTIFYD_LIMITS_PER_USER_RECEIVED_BYTES": "\(halfReceived)"]
            _ = try sources(environment: payload.merging(other) { $1 }).load()
        }
        #expect(throws: Never.self) { try load(halfReceived: 100_000 + Limits.frameOverheadBytes) }
        let tooFew = 100_000 + Limits.frameOverheadBytes - 1
        expectRefusal(.configurationInvalid, "limits.per_user.received_bytes is \(tooFew): expected at least") {
            try load(halfReceived: tooFew)
        }
    }

    @Test func `options override the environment, the file and the defaults`() throws {
        let file = try folder.write("socket: /file\ndatabase: /file\nlog_level: error\n", to: "f.yaml")
        let environment = [
            "NOTIFYD_CONFIG": file, "NOTIFYD_SOCKET": "/environment", "NOTIFYD_DATABASE": "/environment",
        ]
        let configuration = try sources(CommandLineOptions(socket: "/option"), environment: environment).load()
        #expect(configuration.socketPath == "/option")
        #expect(configuration.databasePath == "/environment")
        #expect(configuration.logLevel == .error)
        #expect(configuration.broker == BrokerConfiguration())
    }

    @Test func `the log level option overrides other sources`() throws {
        let environment = ["NOTIFYD_LOG_LEVEL": "error"]
        #expect(try sources(environment: environment).load().logLevel == .error)
        #expect(try sources(CommandLineOptions(logLevel: .trace), environment: environment).load().logLevel == .trace)
    }

    @Test func `the option for the configuration file overrides the variable for it`() throws {
        let chosen = try folder.write("log_level: error\n", to: "chosen.yaml")
        let other = try folder.write("log_level: trace\n", to: "other.yaml")
        let options = CommandLineOptions(configuration: chosen)
        #expect(try sources(options, environment: ["NOTIFYD_CONFIG": other]).load().logLevel == .error)
    }

    @Test func `a variable can remove a limit`() throws {
        let file = try folder.write("log: {max_bytes: 1GiB}", to: "f.yaml")
        let options = CommandLineOptions(configuration: file)
        #expect(try sources(options).load().store.retention.maximumBytes == 1 << 30)
        let unlimited = ["NOTIFYD_LOG_MAX_BYTES": "unlimited"]
        #expect(try sources(options, environment: unlimited).load().store.retention.maximumBytes == nil)
        let memory = ["NOTIFYD_LIMITS_MEMORY_BYTES": "automatic"]
        let automatic = try sources(options, environment: memory).load().broker.memoryBytes
        #expect(automatic == max(16 << 20, min(PhysicalMemory.bytes / 4, 1 << 30)))
    }

    @Test func `every setting except lists has an environment variable`() throws {
        let before = try sources().load()
        // Lists of records can't be set by a variable.
        for setting in ConfigurationSetting.all where setting.type != nil {
            let value =
                switch setting.target {
                case .path, .socketPath: "/elsewhere"
                case .permissions: "0640"
                case .logLevel: "critical"
                case .boolean: "true"
                case .integer(_, let range): "\(min(range.upperBound, 2_000_000))"
                case .window, .rate: "7"
                case .seconds: "7.25"
                case .quantity where setting.key == "log.expire_subscriptions": "7d"
                case .size, .sizeLimit, .quantity: "7MiB"
                case .memory: "70MiB"
                case .records: ""
                }
            let after = try sources(environment: [setting.environmentVariable: value]).load()
            let changed = ConfigurationSetting.all.filter { $0.differs(before, after) }.map(\.key)
            #expect(changed == [setting.key])
        }
        #expect(ConfigurationSetting.all.map(\.environmentVariable).contains("NOTIFYD_LIMITS_PER_USER_OUTBOX_BYTES"))
    }

    @Test(arguments: [
        ("NOTIFYD_LIMITS_PAYLOAD_BYTES", "abc", "expected a size from 0 to 64MiB"),
        ("NOTIFYD_LIMITS_CONNECTIONS", "-1", "expected an integer from 1 to 1000000"),
        ("NOTIFYD_LIMITS_CONNECTIONS", "1.5", "expected an integer"),
        ("NOTIFYD_LIMITS_CONNECTIONS", "010", "expected an integer"),
        ("NOTIFYD_LIMITS_PER_USER_POSTS_PER_SECOND", "010", "expected an integer"),
        ("NOTIFYD_LIMITS_PAYLOAD_BYTES", "010", "expected a size"),
        ("NOTIFYD_TIMEOUTS_DRAIN_SECONDS", "soon", "expected a duration from 0 to 1h"),
        ("NOTIFYD_TIMEOUTS_DRAIN_SECONDS", "nan", "expected a duration"),
        ("NOTIFYD_LOG_LEVEL", "loud", "expected one of trace"),
        ("NOTIFYD_LOG_MAX_BYTES", "10GB", "expected a size from 1MiB to 16TiB"),
        ("NOTIFYD_LOG_CHECKPOINT_BYTES", "1", "expected a size from 64KiB to 1GiB"),
        ("NOTIFYD_SOCKET_MODE", "9", "expected \"0600\" to \"0777\", permissions in octal"),
    ])
    func `the error of an invalid variable names it`(_ name: String, _ value: String, _ expectation: String) {
        expectRefusal(.configurationInvalid, "\(name)=\(value)", expectation) {
            _ = try sources(environment: [name: value]).load()
        }
    }

    @Test func `a socket path that is too long is refused in every source, even when overridden`() throws {
        let longest = "/" + String(repeating: "s", count: 106)
        let expectation = "expected a path of at most 107 bytes"
        let file = try folder.write("log_level: info\nsocket: \(longest)s\n", to: "f.yaml")
        expectRefusal(.configurationInvalid, "f.yaml:2: socket: \(expectation)") {
            _ = try sources(CommandLineOptions(socket: "/s", configuration: file)).load()
        }
        expectRefusal(.configurationInvalid, "NOTIFYD_SOCKET=\(longest)s: \(expectation)") {
            _ = try sources(CommandLineOptions(socket: "/s"), environment: ["NOTIFYD_SOCKET": longest + "s"]).load()
        }
        expectRefusal(.configurationInvalid, expectation) {
            _ = try sources(CommandLineOptions(socket: longest + "s")).load()
        }
        #expect(try sources(environment: ["NOTIFYD_SOCKET": longest]).load().socketPath == longest)
        expectRefusal(.configurationInvalid, "the socket path has", "at most 107 are possible") {
            _ = try sources(environment: ["XDG_RUNTIME_DIR": longest]).load()
        }
    }

    @Test(arguments: [("64KiB", 65_536), ("1.5MiB", 1_572_864), ("100", 100)])
    func `a size in a variable may have a unit, too`(text: String, bytes: Int) throws {
        let loaded = try sources(environment: ["NOTIFYD_LIMITS_PAYLOAD_BYTES": text]).load()
        #expect(loaded.broker.maximumPayloadBytes == bytes)
    }

    @Test(arguments: [("5", Duration.seconds(5)), ("0.5", .milliseconds(500)), ("1m30s", .seconds(90))])
    func `durations are read as notifyctl reads them`(text: String, duration: Duration) throws {
        let loaded = try sources(environment: ["NOTIFYD_TIMEOUTS_DRAIN_SECONDS": text]).load()
        #expect(loaded.drainDeadline == duration)
    }

    @Test func `an invalid value is an error even when overridden`() throws {
        expectRefusal(.configurationInvalid, "NOTIFYD_LOG_LEVEL=loud") {
            _ = try sources(CommandLineOptions(logLevel: .info), environment: ["NOTIFYD_LOG_LEVEL": "loud"]).load()
        }
        let file = try folder.write("log_level: loud\n", to: "f.yaml")
        expectRefusal(.configurationInvalid, "f.yaml:1: log_level") {
            _ = try sources(CommandLineOptions(configuration: file, logLevel: .info)).load()
        }
    }

    @Test func `an empty variable counts as unset`() throws {
        let empty = ["NOTIFYD_SOCKET": "", "NOTIFYD_CONFIG": "", "NOTIFYD_LIMITS_PAYLOAD_BYTES": ""]
        #expect(try sources(environment: empty).load() == sources().load())
    }

    @Test func `an empty option is an error`() {
        expectRefusal(.configurationInvalid, "--socket: expected a path") {
            _ = try sources(CommandLineOptions(socket: "")).load()
        }
    }

    @Test func `an explicit configuration file must exist`() {
        expectRefusal(.configurationUnreadable, "/nowhere/n.yaml", "cannot be read", "No such file") {
            _ = try sources(CommandLineOptions(configuration: "/nowhere/n.yaml")).load()
        }
        expectRefusal(.configurationUnreadable, "/nowhere/n.yaml") {
            _ = try sources(environment: ["NOTIFYD_CONFIG": "/nowhere/n.yaml"]).load()
        }
    }

    @Test func `the default file is read if it exists`() throws {
        #expect(try sources(environment: ["XDG_CONFIG_HOME": folder.file("config")]).load().logLevel == .info)
        try ServiceDirectory(path: folder.file("config/notifyd"), mode: 0o700).prepare(
            owner: geteuid(), purpose: "socket")
        _ = try folder.write("log_level: warning\n", to: "config/notifyd/notifyd.yaml")
        #expect(try sources(environment: ["XDG_CONFIG_HOME": folder.file("config")]).load().logLevel == .warning)
        _ = try folder.write("log_levl: warning\n", to: "config/notifyd/notifyd.yaml")
        expectRefusal(.configurationInvalid, "notifyd.yaml:1: unknown key") {
            _ = try sources(environment: ["XDG_CONFIG_HOME": folder.file("config")]).load()
        }
    }

    @Test func `unknown variables with the prefix are reported`() {
        let environment = ["NOTIFYD_SOKET": "/x", "NOTIFYD_SOCKET": "/y", "NOTIFYD_CONFIG": "/z", "PATH": "/bin"]
        #expect(sources(environment: environment).unknownEnvironmentVariables == ["NOTIFYD_SOKET"])
    }

    @Test func `without a home directory, the database path is required`() throws {
        let context = context(["XDG_RUNTIME_DIR": folder.path])
        let defaults = DefaultPaths(for: context)
        expectRefusal(.configurationInvalid, "HOME", "--database") {
            _ = try ConfigurationSources(options: .init(), context: context, defaults: defaults).load()
        }
        let options = CommandLineOptions(database: "/d")
        let sources = ConfigurationSources(options: options, context: context, defaults: defaults)
        #expect(try sources.load().databasePath == "/d")
    }
}
