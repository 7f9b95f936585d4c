import NotifyBroker
import NotifyLog
import NotifyStore
import Testing
import TestSupport

@testable import NotifyServer

@Suite struct ConfigurationFileTests {
    private func parse(_ text: String) throws -> ServerConfiguration {
        let folder = try TemporaryFolder()
        let path = try folder.write(text, to: "notifyd.yaml")
        let context = context(["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
        return try ConfigurationSources(
            options: CommandLineOptions(configuration: path), context: context, defaults: DefaultPaths(for: context)
        ).load()
    }

    @Test func `every setting of a file is read`() throws {
        let configuration = try parse(
            """
            # The house's notifyd
            socket: /srv/notify/n.sock
            socket_mode: "0660"
            database: "/srv/notify/n.db"
            log_level: debug
            presence: true
            log:
              max_bytes: 10GiB
              checkpoint_bytes: 1_048_576
            limits:
              payload_bytes: 65_536
              per_user:
                connections: 7
              per_connection:
                post_window: 1
            timeouts:
              drain_seconds: 2
              greeting_seconds: 0.5
            """)
        #expect(configuration.socketPath == "/srv/notify/n.sock")
        #expect(configuration.socketMode == 0o660)
        #expect(configuration.databasePath == "/srv/notify/n.db")
        #expect(configuration.logLevel == .debug)
        #expect(configuration.broker.postsPresence)
        #expect(configuration.store.retention.maximumBytes == 10 << 30)
        #expect(configuration.store.checkpointBytes == 1 << 20)
        #expect(configuration.broker.maximumPayloadBytes == 65_536)
        #expect(configuration.broker.connectionsPerUser == 7)
        #expect(configuration.broker.postWindow == 1)
        #expect(configuration.drainDeadline == .seconds(2))
        #expect(configuration.broker.greetingTimeout == .milliseconds(500))
        #expect(configuration.broker.subscriptionsPerUser == BrokerConfiguration().subscriptionsPerUser)
    }

    @Test(arguments: ["", "\n\n", "# nothing but a remark\n", "---\n", "limits:\n", "limits:\n  per_user:\n", "{}"])
    func `a file without settings keeps the defaults`(_ text: String) throws {
        #expect(try parse(text).broker == BrokerConfiguration())
    }

    private static let mistakes: [(text: String, message: String)] = [
        // unknown keys, at every level
        ("sockt: /x", "notifyd.yaml:1: unknown key \"sockt\", expected one of socket, socket_mode, database"),
        ("\nlimits:\n  payload: 1\n", "notifyd.yaml:3: unknown key \"limits.payload\", expected one of memory_bytes"),
        ("limits:\n  per_user:\n    conections: 3\n", "notifyd.yaml:3: unknown key \"limits.per_user.conections\""),
        ("payload_bytes: 1", "unknown key \"payload_bytes\""),
        // a key with dots, which YAML does not split
        ("limits.payload_bytes: 1", "unknown key \"limits.payload_bytes\""),
        ("Socket: /x", "unknown key \"Socket\""),
        ("? [a, b]\n: 1", "expected a setting's name"),
        // wrong types
        (
            "limits:\n  payload_bytes: lots\n",
            "notifyd.yaml:2: limits.payload_bytes: expected a size from 0 to 64MiB, a number of bytes or one with the unit "
                + "KiB, MiB, GiB or TiB, not lots"
        ),
        (
            "limits:\n  connections: \"5\"\n",
            "limits.connections: expected an integer from 1 to 1000000, not \"5\""
        ),
        ("limits:\n  connections: 5.5\n", "expected an integer"),
        ("limits:\n  connections: true\n", "expected an integer"),
        ("limits:\n  connections:\n", "expected an integer"),
        // YAML reads these as 8 and 90.
        ("limits:\n  connections: 010\n", "limits.connections: expected an integer from 1 to 1000000, not 010"),
        ("limits:\n  connections: 1:30\n", "limits.connections: expected an integer from 1 to 1000000, not 1:30"),
        ("log:\n  max_bytes: 010000000\n", "log.max_bytes: expected a size from 1MiB to 16TiB"),
        ("limits:\n  payload_bytes: 010\n", "limits.payload_bytes: expected a size from 0 to 64MiB"),
        ("limits:\n\tpayload_bytes: 10\n", "notifyd.yaml:2: not YAML: the line is indented with a TAB character"),
        ("limits:\n  payload_bytes: [5]\n", "not a list or mapping"),
        ("limits:\n  payload_bytes: {a: 5}\n", "not a list or mapping"),
        ("limits:\n  payload_bytes: 99999999999999999999999\n", "expected a size"),
        ("limits: 5\n", "notifyd.yaml:1: limits: expected settings below it, such as memory_bytes, connections"),
        ("limits: [5]\n", "limits: expected settings below it"),
        ("log_level: 5\n", "log_level: expected one of trace, debug, info, notice, warning, error, critical, not 5"),
        ("log_level: loud\n", "not loud"),
        ("log_level: Debug\n", "not Debug"),
        ("presence: \"true\"\n", "notifyd.yaml:1: presence: expected true or false, not \"true\""),
        ("presence: yes\n", "presence: expected true or false, not yes"),
        ("presence: 1\n", "presence: expected true or false, not 1"),
        ("presence:\n", "presence: expected true or false"),
        (
            "timeouts:\n  drain_seconds: 1y\n",
            "notifyd.yaml:2: timeouts.drain_seconds: expected a duration from 0 to 1h, seconds"
        ),
        ("timeouts:\n  drain_seconds: .inf\n", "expected a duration"),
        ("timeouts:\n  drain_seconds: .nan\n", "expected a duration"),
        (
            "log:\n  max_bytes: 10GB\n",
            "notifyd.yaml:2: log.max_bytes: expected a size from 1MiB to 16TiB, a number of bytes or one with the unit "
                + "KiB, MiB, GiB or TiB, or unlimited, not 10GB"
        ),
        ("log:\n  max_bytes: 1.5G\n", "log.max_bytes: expected a size"),
        ("log:\n  max_bytes: -1\n", "log.max_bytes: expected a size"),
        ("log:\n  max_bytes: 5.5\n", "log.max_bytes: expected a size"),
        ("log:\n  max_bytes:\n", "log.max_bytes: expected a size"),
        ("log:\n  max_bytes: [1GiB]\n", "log.max_bytes: expected a size"),
        ("log:\n\n  checkpoint_bytes: unlimited\n", "notifyd.yaml:3: log.checkpoint_bytes: expected a size from 64KiB"),
        ("log: 5\n", "log: expected settings below it, such as max_bytes, min_free_bytes, max_backlog, retention,"),
        ("socket: 5\n", "socket: expected a path"),
        (
            "socket: relative/n.sock\n",
            "socket: expected a path of at most 107 bytes, absolute in a file, not relative/n.sock"
        ),
        ("socket: \"\"\n", "socket: expected a path"),
        ("socket: \"/a\\0b\"\n", "socket: expected a path"),
        ("socket_mode: 0660\n", "socket_mode: expected \"0600\" to \"0777\", permissions in octal, in quotes"),
        ("socket_mode: \"0888\"\n", "socket_mode: expected \"0600\" to \"0777\", permissions"),
        ("socket_mode: \"01777\"\n", "socket_mode: expected \"0600\" to \"0777\", permissions"),
        // control characters, line separators and long texts
        ("\"a\\nb\\e[31m\": 1", "notifyd.yaml:1: unknown key \"a\\nb\\u{1b}[31m\", expected one of"),
        ("log_level: \"x\\L\\N\"", "not \"x\\u{2028}\\u{85}\""),
        ("{\"\\r\": 1, \"\\r\": 2}", "duplicate key: \\u{d}"),
        (String(repeating: "k", count: 101) + ": 1", String(repeating: "k", count: 100) + "…\", expected"),
        ("socket: " + String(repeating: "é", count: 100), "not " + String(repeating: "é", count: 100)),
        ("limits: {users: [{\"\\t\": 1}]}", "limits.users: unknown key \"\\u{9}\", expected"),
        // settings that contradict each other
        (
            "limits:\n  per_user:\n    received_bytes: 4096\n",
            "notifyd.yaml:3: limits.per_user.received_bytes is 4096: expected at least"
        ),
        ("\nlimits:\n  payload_bytes: 67108864\n", "notifyd.yaml:3: limits.per_user.received_bytes is 67108864"),
        // no mapping, or no valid YAML
        ("hello", "notifyd.yaml:1: expected settings of the form \"key: value\""),
        ("- socket: /x", "expected settings of the form"),
        ("socket: /x\nsocket: /y\n", "duplicate key: socket"),
        ("socket: [", "not YAML"),
        ("socket: *nowhere", "not YAML"),
        ("socket: /x\n---\nsocket: /y\n", "not YAML"),
        ("\tsocket: /x", "not YAML"),
    ]

    @Test(arguments: mistakes)
    func `errors describe the mistake and name its line`(_ text: String, _ message: String) {
        expectRefusal(.configurationInvalid, message, "notifyd.yaml") { _ = try parse(text) }
    }

    private static let edges: [(text: String, isRight: Bool)] = [
        ("limits: {payload_bytes: -1}", false), ("limits: {payload_bytes: 0}", true),
        ("limits: {payload_bytes: 67108864, per_user: {received_bytes: 99999999}}", true),
        ("limits: {payload_bytes: 67108865, per_user: {received_bytes: 99999999}}", false),
        ("limits: {per_connection: {post_window: 0}}", false),
        ("limits: {per_connection: {post_window: 1}}", true),
        ("limits: {per_connection: {durable_window: 0}}", false),
        ("limits: {per_connection: {durable_window: 16384}}", true),
        ("limits: {per_connection: {durable_window: 16385}}", false),
        ("limits: {per_connection: {durable_window: 4294967552}}", false),
        ("limits: {per_connection: {durable_window: -1}}", false),
        ("limits: {per_user: {outbox_bytes: 4095}}", false), ("limits: {per_user: {outbox_bytes: 4096}}", true),
        ("log: {max_bytes: 1048575}", false), ("log: {max_bytes: 1048576}", true), ("log: {max_bytes: 1MiB}", true),
        ("log: {max_bytes: 16TiB}", true), ("log: {max_bytes: 17592186044417}", false),
        ("log: {max_bytes: unlimited}", true), ("log: {max_bytes: \"512MiB\"}", true),
        ("log: {checkpoint_bytes: 65535}", false), ("log: {checkpoint_bytes: 64KiB}", true),
        ("log: {checkpoint_bytes: 1GiB}", true), ("log: {checkpoint_bytes: 1073741825}", false),
        ("timeouts: {drain_seconds: -0.1}", false), ("timeouts: {drain_seconds: 0}", true),
        ("timeouts: {drain_seconds: 3600}", true), ("timeouts: {drain_seconds: 3600.5}", false),
        ("socket_mode: \"0577\"", false), ("socket_mode: \"0600\"", true), ("socket_mode: \"0777\"", true),
    ]

    @Test(arguments: edges)
    func `every number is checked against its range`(_ text: String, _ isRight: Bool) {
        #expect(((try? parse(text)) != nil) == isRight)
    }

    @Test func `files that are not UTF-8 or too large are refused`() {
        for (text, line) in [([0x73, 0xFF, 0xFE], 1), (Array("é: \u{FFFD}\n\n# ".utf8) + [0xC3, 0x28, 0x0A], 3)] {
            expectRefusal(.configurationInvalid, "f.yaml:\(line): not UTF-8") {
                _ = try ConfigurationDocument(path: "f.yaml", bytes: text)
            }
        }
        let limit = ConfigurationDocument.maximumBytes
        #expect(throws: Never.self) {
            _ = try ConfigurationDocument(path: "f.yaml", bytes: [UInt8](repeating: UInt8(ascii: "#"), count: limit))
        }
        expectRefusal(.configurationInvalid, "f.yaml", "larger than the limit of 1048576 bytes") {
            let bytes = [UInt8](repeating: UInt8(ascii: "#"), count: limit + 1)
            _ = try ConfigurationDocument(path: "f.yaml", bytes: bytes)
        }
    }

    @Test func `a folder in place of the file is an error`() throws {
        let folder = try TemporaryFolder()
        expectRefusal(.configurationUnreadable, folder.path, "cannot be read") {
            _ = try ConfigurationFile.read(path: folder.path, isRequired: false)
        }
    }
}
