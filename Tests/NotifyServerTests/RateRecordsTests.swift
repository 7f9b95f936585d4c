import NotifyBroker
import TestSupport
import Testing

@testable import NotifyServer

/// The rates in the configuration file.
@Suite struct RateRecordsTests {
    private func load(_ text: String) throws -> RateLimits {
        let folder = try TemporaryFolder()
        let options = CommandLineOptions(configuration: try folder.write(text, to: "n.yaml"))
        let context = context(["HOME": folder.path, "XDG_RUNTIME_DIR": folder.path])
        return try ConfigurationSources(options: options, context: context, defaults: DefaultPaths(for: context))
            .load().broker.rates
    }

    @Test func `rates are read for all users and for some`() throws {
        let rates = try load(
            """
            limits:
              per_user: {posts_per_second: 100, connects_per_second: unlimited}
              users:
                - {users: [root], posts_per_second: unlimited}
                - {groups: [daemon], gids: [7], connects_per_second: 3}
            """)
        #expect(rates.postsPerSecond == 100 && rates.connectsPerSecond == nil)
        #expect(
            rates.exceptions == [
                .init(uids: [0], gids: [], posts: .unlimited, connects: nil),
                .init(uids: [], gids: [1, 7], posts: nil, connects: .perSecond(3)),
            ])
    }

    @Test(arguments: [
        ("per_user: {posts_per_second: 0}", "expected an integer from 1 to 100000000, or unlimited"),
        ("per_user: {posts_per_second: fast}", "expected an integer"),
        ("users: [{posts_per_second: 5}]", "expected one of the keys users, groups, uids, gids"),
        ("users: [{uids: [5]}]", "expected a key \"posts_per_second\" or \"connects_per_second\""),
        ("users: [{uids: [5], posts_per_second: 1.5}]", "expected an integer"),
        ("users: [{uids: [5], posts: 5}]", "unknown key \"posts\""),
    ])
    func `a mistake is refused with file and line`(_ text: String, _ problem: String) throws {
        expectRefusal(.configurationInvalid, "n.yaml:2", problem) { _ = try load("limits:\n  \(text)") }
    }
}
