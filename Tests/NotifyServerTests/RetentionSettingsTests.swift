import NotifyCenter
import NotifyLog
import NotifyStore
import TestSupport
import Testing

@testable import NotifyServer

/// The settings of retention in the configuration file.
@Suite struct RetentionSettingsTests {
    private func load(_ text: String, environment: [String: String] = [:]) throws -> RetentionPolicy {
        let folder = try TemporaryFolder()
        let options = CommandLineOptions(configuration: try folder.write(text, to: "n.yaml"))
        let context = context(["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path].merging(environment) { $1 })
        return try ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
            .load().store.retention
    }

    private func log(_ settings: String) throws -> RetentionPolicy { try load("log:\n  \(settings)") }

    @Test func `without settings, the defaults apply`() throws {
        let policy = try load("")
        #expect(policy == RetentionPolicy())
        #expect(policy.maximumBytes == 10 << 30 && policy.minimumFreeBytes == 256 << 20)
        #expect(policy.maximumBacklog == .half && policy.subscriptionExpiry == nil)
    }

    @Test func `rules are read in order; missing limits are those of the default history, or no maximum`() throws {
        let policy = try load(
            """
            log:
              retention:
                - names: ["metrics.>", "notifyd.>"]
                  history_age: 0
                  max_age: 1h
                  max_bytes: 64MiB
                  max_messages: 100000
                - {names: [audit.*], history_age: unlimited, history_bytes: unlimited, max_age: unlimited}
                - {names: [b], history_bytes: 0, max_bytes: unlimited, max_messages: unlimited}
                - {names: [c], history_age: 30d, history_bytes: 5}
            """)
        var metrics = RetentionRule(patterns: [NamePattern("metrics.>"), NamePattern("notifyd.>")])
        metrics.historyAge = .zero
        metrics.maximumAge = .seconds(3600)
        metrics.maximumBytes = 64 << 20
        metrics.maximumMessages = 100_000
        var audit = RetentionRule(patterns: [NamePattern("audit.*")])
        (audit.historyAge, audit.historyBytes) = (nil, nil)
        var second = RetentionRule(patterns: [NamePattern("b")])
        second.historyBytes = 0
        var third = RetentionRule(patterns: [NamePattern("c")])
        (third.historyAge, third.historyBytes) = (.seconds(30 * 86_400), 5)
        #expect(policy.rules == [.builtIn, .deadLetters, metrics, audit, second, third])
    }

    @Test(
        arguments: [
            ("half", .half), ("quarter", .quarter), ("unlimited", .unlimited), ("1MiB", .bytes(1 << 20)),
            ("10GiB", .bytes(10 << 30)), ("1048576", .bytes(1 << 20)),
        ] as [(String, BacklogLimit)])
    func `the limit of backlogs is a share, a size or unlimited`(_ text: String, _ limit: BacklogLimit) throws {
        #expect(try log("max_backlog: \(text)").maximumBacklog == limit)
    }

    @Test func `the limits of the log and the expiry of subscriptions are read`() throws {
        #expect(try log("max_bytes: unlimited").maximumBytes == nil)
        #expect(try log("min_free_bytes: 0").minimumFreeBytes == 0)
        #expect(try log("min_free_bytes: 1GiB").minimumFreeBytes == 1 << 30)
        #expect(try log("expire_subscriptions: never").subscriptionExpiry == nil)
        #expect(try log("expire_subscriptions: 60s").subscriptionExpiry == .seconds(60))
        #expect(try log("expire_subscriptions: 30d").subscriptionExpiry == .seconds(30 * 86_400))
        #expect(try log("{max_bytes: unlimited, max_backlog: 16TiB}").backlogBytes == 16 << 40)
    }

    @Test func `a variable overrides the file`() throws {
        let environment = [
            "NOTIFYD_LOG_MIN_FREE_BYTES": "0", "NOTIFYD_LOG_MAX_BACKLOG": "unlimited",
            "NOTIFYD_LOG_EXPIRE_SUBSCRIPTIONS": "never",
        ]
        let text = "log: {min_free_bytes: 1GiB, max_backlog: quarter, expire_subscriptions: 1h}"
        var expected = RetentionPolicy()
        (expected.minimumFreeBytes, expected.maximumBacklog) = (0, .unlimited)
        #expect(try load(text, environment: environment) == expected)
    }

    private static let keys = "names, history_age, history_bytes, max_age, max_bytes, max_messages"
    private static let units = "seconds, or numbers with the units ms, s, m, h, d or w such as 90s, 1h30m or 1.5h"

    private static let mistakes: [(text: String, message: String)] = [
        ("max_byte: 5", "unknown key \"log.max_byte\", expected one of max_bytes, min_free_bytes, max_backlog,"),
        (
            "history_age: 7d",
            "retention, expire_subscriptions, checkpoint_bytes; it is a key of the records in log.retention"
        ),
        ("max_bytes: 1048575", "log.max_bytes: expected a size from 1MiB to 16TiB"),
        ("min_free_bytes: unlimited", "log.min_free_bytes: expected a size from 0 to 16TiB"),
        ("min_free_bytes: 17TiB", "log.min_free_bytes: expected a size from 0 to 16TiB"),
        ("max_backlog: most", "log.max_backlog: expected half or quarter (of log.max_bytes), a size from 1MiB to"),
        ("max_backlog: 1023KiB", "unit KiB, MiB, GiB or TiB, or unlimited, not 1023KiB"),
        ("max_backlog: 0.5", "log.max_backlog: expected half"),
        ("max_backlog: 11GiB", "log.max_backlog is 11GiB: expected at most log.max_bytes, which is 10GiB"),
        ("{max_bytes: 2MiB, max_backlog: 2097153}", "log.max_backlog is 2097153: expected at most log.max_bytes"),
        ("expire_subscriptions: 59s", "expected a duration from 1m to 36500d, \(units), or never, not 59s"),
        ("expire_subscriptions: 0", "log.expire_subscriptions: expected a duration from 1m"),
        ("expire_subscriptions: 30", "\(units), or never, not 30"),
        ("expire_subscriptions: 36501d", "log.expire_subscriptions: expected a duration"),
        // records
        ("retention: 24h", "log.retention: expected a list of records with the keys \(keys)"),
        ("retention: [{names: [a], age: 1h}]", "log.retention: unknown key \"age\", expected one of \(keys)"),
        ("retention: [{max_age: 1h}]", "log.retention: expected a key \"names\" in this record"),
        ("retention: [{names: []}]", "log.retention.names: expected a list of one or more values"),
        ("retention: [{names: [a..b]}]", "log.retention.names: expected a name or a pattern such as orders.>"),
        (
            "retention: [{names: [a], history_age: 010}]",
            "log.retention.history_age: expected a duration from 0 to 36500d, \(units), or unlimited, not 010"
        ),
        ("retention: [{names: [a], history_age: 1y}]", "\(units), or unlimited, not 1y"),
        ("retention: [{names: [a], history_age: 1.5h30m}]", "log.retention.history_age: expected a duration"),
        ("retention: [{names: [a], history_age: -1h}]", "log.retention.history_age: expected a duration"),
        ("retention: [{names: [a], history_age: never}]", "log.retention.history_age: expected a duration"),
        ("retention: [{names: [a], history_age: 9223372036854775807s}]", "log.retention.history_age: expected"),
        ("retention: [{names: [a], history_bytes: 1GB}]", "log.retention.history_bytes: expected a size from 0 to"),
        ("retention: [{names: [a], max_age: 0}]", "log.retention.max_age: expected a duration from 1s to 36500d"),
        (
            "retention: [{names: [a], max_bytes: 1048575}]",
            "log.retention.max_bytes: expected a size from 1MiB to 16TiB, a number of bytes or one with the unit KiB, "
                + "MiB, GiB or TiB, or unlimited, not 1048575"
        ),
        ("retention: [{names: [a], max_messages: 0}]", "log.retention.max_messages: expected an integer from 1 to"),
        ("retention: [{names: [a], max_messages: many}]", "or unlimited, not many"),
    ]

    @Test(arguments: mistakes)
    func `a mistake is refused with file and line`(_ text: String, _ message: String) {
        expectRefusal(.configurationInvalid, "n.yaml:2: ", message) { _ = try log(text) }
    }

    @Test func `a mistake in a record is refused with its own line`() {
        expectRefusal(.configurationInvalid, "n.yaml:5: log.retention.max_bytes") {
            _ = try log("retention:\n    - names: [a]\n      max_age: 1h\n      max_bytes: 1KiB")
        }
        expectRefusal(.configurationInvalid, "n.yaml:3: log.max_backlog is 3MiB") {
            _ = try log("max_bytes: 2MiB\n  max_backlog: 3MiB")
        }
    }

    @Test func `a variable that contradicts the file is refused with the place in the file`() {
        expectRefusal(.configurationInvalid, "n.yaml:2: log.max_backlog is 3MiB") {
            _ = try load("log:\n  max_backlog: 3MiB", environment: ["NOTIFYD_LOG_MAX_BYTES": "2MiB"])
        }
        expectRefusal(.configurationInvalid, "log.max_backlog is 20GiB: expected at most log.max_bytes") {
            _ = try load("", environment: ["NOTIFYD_LOG_MAX_BACKLOG": "20GiB"])
        }
    }
}
