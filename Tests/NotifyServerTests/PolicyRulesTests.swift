import Foundation
import NotifyCenter
import NotifyLog
import TestSupport
import Testing

@testable import NotifyServer

/// The rules in the configuration file and in `policy.d`.
@Suite struct PolicyRulesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(_ text: String) throws -> [AccessRule] {
        let options = CommandLineOptions(configuration: try folder.write(text, to: "n.yaml"))
        let context = context(["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
        return try ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
            .load().policy
    }

    private func write(_ text: String, toPolicyFile name: String) throws {
        let directory = folder.file("policy.d")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        _ = try folder.write(text, to: "policy.d/\(name)")
    }

    @Test func `a rule has rights, names, users and groups`() throws {
        let rules = try load(
            """
            policy:
              - deny: [post, subscribe]
                names: ["hr.>", "user.$uid.x"]
              - allow: [manage]
                users: [root]
                uids: [7, 8]
                groups: [daemon]
                gids: [9]
            """)
        let path = folder.file("n.yaml")
        #expect(
            rules == [
                AccessRule(.deny, [.post, .subscribe], names: ["hr.>", "user.$uid.x"], source: .file(path, line: 2)),
                AccessRule(
                    .allow, [.manage], names: [">"], uids: [0, 7, 8], gids: [1, 9], source: .file(path, line: 4)),
            ])
    }

    @Test func `the files in policy.d follow the configuration file, in the order of their names`() throws {
        try write("- {deny: [post], names: [b]}", toPolicyFile: "20-b.yaml")
        try write("# nothing\n", toPolicyFile: "30.yaml")
        try write("- {deny: [post], names: [a]}\n- {deny: [post], names: [a2]}", toPolicyFile: "10-z.yaml")
        try write("not: [valid", toPolicyFile: "10.yaml.disabled")
        let rules = try load("policy: [{deny: [post], names: [first]}]")
        #expect(rules.map(\.names[0].string) == ["first", "a", "a2", "b"])
        #expect(
            rules.map(\.place).suffix(2) == [
                folder.file("policy.d/10-z.yaml") + ":2", folder.file("policy.d/20-b.yaml") + ":1",
            ])
    }

    @Test(arguments: [
        ("- {names: [a]}", "expected either a key \"allow\" or a key \"deny\""),
        ("- {allow: [post], deny: [post], names: [a]}", "expected either a key \"allow\" or a key \"deny\""),
        ("- {allow: [post]}", "expected a key \"names\""),
        ("- {allow: [post], names: []}", "expected a list of one or more values"),
        ("- {allow: [read], names: [a]}", "expected one of post, subscribe, manage, serve, not read"),
        ("- {allow: post, names: [a]}", "expected a list"),
        ("- {allow: [post], names: [a..b]}", "expected a name or a pattern such as orders.>, not a..b"),
        ("- {allow: [post], names: [\"a b\"]}", "expected a name or a pattern"),
        ("- {allow: [post], names: [a], user: [root]}", "unknown key \"user\""),
        ("- {allow: [post], names: [a], users: [no-such-user]}", "expected the name of a user of this machine"),
        ("- {allow: [post], names: [a], groups: [no-such-group]}", "expected the name of a group of this machine"),
        ("- {allow: [post], names: [a], uids: [-1]}", "expected an integer from 0 to 4294967294"),
        ("- {allow: [post], names: [a], uids: [root]}", "expected an integer"),
        ("- {allow: [post], names: [\"notifyd.>\"]}", "posting under 'notifyd.>' cannot be allowed"),
        ("allow: [post]", "expected a list of records"),
        ("- a: ]", "not YAML"),
    ])
    func `a mistake is refused with file and line`(_ text: String, _ problem: String) throws {
        try write("# first line\n" + text, toPolicyFile: "50.yaml")
        expectRefusal(.configurationInvalid, folder.file("policy.d/50.yaml") + ":2", problem) { _ = try load("") }
    }

    @Test func `rules may deny the daemon's names, and allow subscribing to them`() throws {
        let rules = try load("policy: [{deny: [post], names: [notifyd.>]}, {allow: [subscribe], names: [notifyd.>]}]")
        #expect(rules.count == 2)
    }

    @Test func `files that others may write to are refused`() throws {
        try write("", toPolicyFile: "50.yaml")
        for (path, mode) in [("policy.d/50.yaml", 0o664), ("policy.d/50.yaml", 0o646), ("policy.d", 0o777)] {
            let file = folder.file(path)
            let previous = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            expectRefusal(.configurationUntrusted, file, "run \"chmod go-w '\(file)'\"") { _ = try load("") }
            try FileManager.default.setAttributes([.posixPermissions: previous ?? 0o644], ofItemAtPath: file)
            #expect(try load("").isEmpty)
        }
        let main = folder.file("n.yaml")
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: main)
        expectRefusal(.configurationUntrusted, main, "other users may write") { _ = try load("") }
    }

    @Test func `the file of the default rules describes the default rules`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appendingPathComponent("systemd/policy.d/00-default.yaml"), encoding: .utf8)
        try write(text, toPolicyFile: "00.yaml")
        #expect(try load("").isEmpty)
        let uncommented = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("# ") ? String($0.dropFirst(2)) : String($0) }.joined(separator: "\n")
        try write(uncommented, toPolicyFile: "00.yaml")
        let rules = try load("").map { rule in
            var rule = rule
            rule.source = .defaults
            return rule
        }
        #expect(rules == AccessPolicy(daemonUID: 0).allRules)
    }
}
