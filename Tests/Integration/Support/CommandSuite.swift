import Glibc
import TestSupport

/// A daemon, a client that posts, and notifyctl, for a suite about subcommands.
struct CommandSetUp {
    let daemon: Daemon
    let poster: RawClient
    let notifyctl: Notifyctl

    /// - Parameter admitsOthers: Whether other users may connect, too.
    init(admitsOthers: Bool = false) async throws {
        daemon = try await Daemon.start(environment: admitsOthers ? ["NOTIFYD_SOCKET_MODE": "0666"] : [:])
        if admitsOthers { chmod(daemon.folder.path, 0o755) }
        poster = try RawClient(daemon)
        notifyctl = Notifyctl(daemon)
    }
}

/// A suite about subcommands.
protocol CommandSuite {
    var setUp: CommandSetUp { get }
}

extension CommandSuite {
    var daemon: Daemon { setUp.daemon }
    var poster: RawClient { setUp.poster }
    var notifyctl: Notifyctl { setUp.notifyctl }
}
