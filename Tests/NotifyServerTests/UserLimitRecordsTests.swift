import NotifyBroker
import TestSupport
import Testing

@testable import NotifyServer

/// The limits of users in the configuration file.
@Suite struct UserLimitRecordsTests {
    private func load(_ text: String) throws -> UserLimitRules {
        let folder = try TemporaryFolder()
        let options = CommandLineOptions(configuration: try folder.write(text, to: "n.yaml"))
        let context = context(["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
        return try ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
            .load().broker.userLimits
    }

    @Test func `limits are read for all users and for some users`() throws {
        let limits = try load(
            """
            limits:
              per_user: {posts_per_second: 100, connects_per_second: unlimited, stored_bytes: 1MiB}
              users:
                - {users: [root], posts_per_second: unlimited, stored_bytes: 10GiB}
                - {groups: [daemon], gids: [7], connects_per_second: 3, stored_bytes: unlimited}
            """)
        #expect(limits.general.postsPerSecond == 100 && limits.general.connectsPerSecond == nil)
        var root = UserLimitRules.Exception(uids: [0], gids: [])
        root.postsPerSecond = .unlimited
        root.storedBytes = .limit(10 << 30)
        var groups = UserLimitRules.Exception(uids: [], gids: [1, 7])
        groups.connectsPerSecond = .limit(3)
        groups.storedBytes = .unlimited
        #expect(limits.general.storedBytes == 1 << 20)
        #expect(limits.exceptions == [root, groups])
    }

    @Test(arguments: [
        ("per_user: {posts_per_second: 0}", "expected an integer from 1 to 100000000, or unlimited"),
        ("per_user: {posts_per_second: fast}", "expected an integer"),
        ("users: [{posts_per_second: 5}]", "expected one of the keys users, groups, uids, gids"),
        ("users: [{uids: [5]}]", "expected one of the keys posts_per_second, connects_per_second, stored_bytes"),
        ("per_user: {stored_bytes: 100}", "expected a size from 4KiB to 16TiB"),
        ("users: [{uids: [5], stored_bytes: many}]", "or one with the unit KiB, MiB, GiB or TiB, or unlimited"),
        ("users: [{uids: [5], posts_per_second: 1.5}]", "expected an integer"),
        ("users: [{uids: [5], posts: 5}]", "unknown key \"posts\""),
    ])
    func `a mistake is refused with file and line`(_ text: String, _ problem: String) throws {
        expectRefusal(.configurationInvalid, "n.yaml:2", problem) { _ = try load("limits:\n  \(text)") }
    }
}
