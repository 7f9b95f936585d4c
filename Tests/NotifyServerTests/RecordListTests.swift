import Testing
import TestSupport

@testable import NotifyServer

/// Lists of records in the configuration file, with settings made for these tests.
@Suite struct RecordListTests {
    private static let names = RecordKey.list("names", of: .text("a name") { $0.isEmpty ? nil : $0 }, isRequired: true)
    private static let level = RecordKey.one("level", .text("a level", LogLevel.init(rawValue:)))
    private static let messages = RecordKey.one("max_messages", .integer(1...100))
    private static let bytes = RecordKey.one("max_bytes", .size(1024...(1 << 30)))
    private static let age = RecordKey.one("max_age", .duration(.zero ... .seconds(86_400)))

    private static let keys: [any DeclaredRecordKey] = [names, level, messages, bytes, age]

    private static let settings: [ConfigurationSetting] = [
        .init("log_level", .logLevel(\.logLevel)),
        .init(
            "log.rules",
            .records(
                RecordList(\.rules, keys) { record throws(ConfigurationFileError) in
                    if record[messages] != nil, record[bytes] != nil {
                        throw record.error("expected max_messages or max_bytes, not both")
                    }
                    var parts = record[names] ?? []
                    if let level = record[level] { parts.append("\(level)") }
                    if let messages = record[messages] { parts.append("\(messages)") }
                    if let bytes = record[bytes] { parts.append("\(bytes)") }
                    if let age = record[age] { parts.append("\(age)") }
                    return parts.joined(separator: "+")
                })),
    ]

    /// Returns the rules that the daemon would use.
    private func rules(_ text: String) throws -> [String] {
        let folder = try TemporaryFolder()
        let options = CommandLineOptions(configuration: try folder.write(text, to: "notifyd.yaml"))
        let context = context(["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
        var sources = ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
        sources.settings = Self.settings
        return try sources.load().rules
    }

    @Test func `records are read in order`() throws {
        let rules = try rules(
            """
            log_level: debug
            log:
              rules:
                - names: [">"]
                  max_age: 24h
                  level: error
                - names:
                    - metrics.>
                    - "5"
                  max_age: 0
                  max_messages: 100
                - {names: [a], max_bytes: 64MiB}
                - max_bytes: 1024
                  names: [b]
            """)
        #expect(rules == [">+error+86400.0 seconds", "metrics.>+5+100+0.0 seconds", "a+67108864", "b+1024"])
    }

    @Test func `an empty list is valid`() throws {
        #expect(try rules("log: {rules: []}") == [])
        #expect(try rules("") == ["default"])
    }

    private static let keyList = "names, level, max_messages, max_bytes, max_age"

    private static let mistakes: [(text: String, message: String)] = [
        // not a list
        ("log:\n  rules: a", "notifyd.yaml:2: log.rules: expected a list of records with the keys \(keyList)"),
        ("log:\n  rules:", "notifyd.yaml:2: log.rules: expected a list of records"),
        ("log:\n  rules:\n    names: [a]", "notifyd.yaml:3: log.rules: expected a list of records"),
        // not a record
        ("log:\n  rules:\n    - a", "notifyd.yaml:3: log.rules: expected a record with the keys \(keyList)"),
        ("log:\n  rules:\n    - [a]", "notifyd.yaml:3: log.rules: expected a record"),
        ("log:\n  rules:\n    - names: [a]\n    -", "notifyd.yaml:4: log.rules: expected a record"),
        // wrong keys
        (
            "log:\n  rules:\n    - names: [a]\n    - names: [b]\n      name: c",
            "notifyd.yaml:5: log.rules: unknown key \"name\", expected one of \(keyList)"
        ),
        ("log: {rules: [{names: [a], [x]: 1}]}", "log.rules: unknown key \"list or mapping\""),
        ("log:\n  rules:\n    - names: [a]\n      names: [b]", "duplicate key: names"),
        (
            "log:\n  rules:\n    - names: [a]\n    - level: info\n      max_age: 1h",
            "notifyd.yaml:4: log.rules: expected a key \"names\" in this record"
        ),
        ("log: {rules: [{}]}", "log.rules: expected a key \"names\""),
        // wrong values
        (
            "log:\n  rules:\n    - names:\n        - a\n        - 5",
            "notifyd.yaml:5: log.rules.names: expected a name, not 5"
        ),
        ("log: {rules: [{names: [\"\"]}]}", "log.rules.names: expected a name, not \"\""),
        ("log: {rules: [{names: [[a]]}]}", "log.rules.names: expected a name, not a list or mapping"),
        (
            "log:\n  rules:\n    -\n      names: a",
            "notifyd.yaml:4: log.rules.names: expected a list of one or more values, each a name"
        ),
        ("log: {rules: [{names: []}]}", "log.rules.names: expected a list of one or more values"),
        ("log: {rules: [{names: [a], level: [info]}]}", "log.rules.level: expected a level, not a list or mapping"),
        ("log: {rules: [{names: [a], level: loud}]}", "log.rules.level: expected a level, not loud"),
        (
            "log: {rules: [{names: [a], max_messages: 0}]}",
            "log.rules.max_messages: expected an integer from 1 to 100, not 0"
        ),
        ("log: {rules: [{names: [a], max_messages: 101}]}", "expected an integer from 1 to 100, not 101"),
        ("log: {rules: [{names: [a], max_messages: \"5\"}]}", "expected an integer from 1 to 100, not \"5\""),
        ("log: {rules: [{names: [a], max_bytes: 1023}]}", "log.rules.max_bytes: expected a size from 1KiB to 1GiB"),
        ("log: {rules: [{names: [a], max_bytes: 2GiB}]}", "log.rules.max_bytes: expected a size from 1KiB to 1GiB"),
        ("log: {rules: [{names: [a], max_bytes: 1.5}]}", "log.rules.max_bytes: expected a size"),
        ("log: {rules: [{names: [a], max_age: 1:30}]}", "log.rules.max_age: expected a duration from 0 to 1d, seconds"),
        ("log: {rules: [{names: [a], max_messages: 010}]}", "expected an integer from 1 to 100, not 010"),
        ("log: {rules: [{names: [a], max_age: -1h}]}", "log.rules.max_age: expected a duration"),
        ("log: {rules: [{names: [a], max_age: 25h}]}", "log.rules.max_age: expected a duration from 0 to 1d"),
        // keys that exclude each other
        (
            "log:\n  rules:\n    - names: [a]\n    - names: [b]\n      max_messages: 5\n      max_bytes: 1MiB",
            "notifyd.yaml:4: log.rules: expected max_messages or max_bytes, not both"
        ),
    ]

    @Test(arguments: mistakes)
    func `errors describe the mistake and name its line`(_ text: String, _ message: String) {
        expectRefusal(.configurationInvalid, message, "notifyd.yaml:") { _ = try rules(text) }
    }

    @Test func `a list in place of a value is refused, and the error of an unknown key lists all keys`() {
        expectRefusal(.configurationInvalid, "notifyd.yaml:2: unknown key \"log.rule\", expected one of rules") {
            _ = try rules("log:\n  rule: []")
        }
        expectRefusal(.configurationInvalid, "log_level: expected one of trace", "not a list or mapping") {
            _ = try rules("log_level: [{names: [a]}]")
        }
    }

    /// A file of a few kilobytes contains 1,000 aliases of a record with 1,100 names.
    @Test func `aliases can't multiply the number of values beyond the limit`() {
        let names = repeatElement("a", count: 1100).joined(separator: ",")
        let aliases = repeatElement("*r", count: 1000).joined(separator: ", ")
        expectRefusal(.configurationInvalid, "log.rules.names: more than 1048576 values") {
            _ = try rules("log: {rules: [&r {names: [\(names)]}, \(aliases)]}")
        }
    }

    @Test func `lists can't be set by variables`() throws {
        let context = context(["HOME": "/h", "NOTIFYD_LOG_RULES": "a", "NOTIFYD_LOG_LEVEL": "debug"])
        var sources = ConfigurationSources(
            options: CommandLineOptions(), context: context, defaults: DefaultPaths(for: context))
        sources.settings = Self.settings
        #expect(try sources.load().rules == ["default"])
        #expect(sources.unknownEnvironmentVariables == ["NOTIFYD_LOG_RULES"])
    }

    @Test func `lists differ if their values differ`() {
        let before = ServerConfiguration(socketPath: "", socketMode: 0, databasePath: "")
        var after = before
        #expect(!Self.settings[1].differs(before, after))
        after.rules = ["a"]
        #expect(Self.settings[1].differs(before, after))
    }
}

extension ServerConfiguration {
    /// A list setting for these tests, stored in `socketPath`. A `drainDeadline` of zero means that the list has been
    /// set.
    fileprivate var rules: [String] {
        get { drainDeadline == .zero ? socketPath.split(separator: "|").map(String.init) : ["default"] }
        set {
            drainDeadline = .zero
            socketPath = newValue.joined(separator: "|")
        }
    }
}
