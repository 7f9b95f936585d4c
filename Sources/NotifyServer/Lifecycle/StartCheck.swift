import Glibc
import NotifyStore
import NotifySystem

/// Checks whether the daemon could start, without changing anything. Also fails if the database's file
/// system is nearly full, although the daemon would start. Other failures have the message of a failed start.
///
/// Does not check the socket: a service manager may open it, and a client checks it by connecting.
package enum StartCheck {
    /// - Returns: A line for the user: the daemon can start, or already runs.
    /// - Throws: ``ServerError`` or `StoreError`.
    package static func run(options: CommandLineOptions) throws -> String {
        let context = ProcessContext.takeFromProcess()
        let defaults = DefaultPaths(for: context)
        let path = try ConfigurationSources(options: options, context: context, defaults: defaults).load().databasePath
        try checkDisk(path)
        // A start creates the default directory.
        if path == defaults.databasePath, access(AccessProblem.directory(of: path), F_OK) != 0, errno == ENOENT {
            return "notifyd can start: it will create the database \(path)"
        }
        do throws(StoreError) {
            try Store.check(path: path)
        } catch {
            guard error.code == .inUse else { throw error }
            return "notifyd runs already: \(error.message)"
        }
        return "notifyd can start with the database \(path)"
    }

    private static func checkDisk(_ path: String) throws(ServerError) {
        let directory = AccessProblem.directory(of: path)
        guard let space = DiskSpace(at: directory), space.isNearlyFull else { return }
        throw ServerError(
            .diskNearlyFull,
            "the file system of '\(directory)' is nearly full (\(space.freeBytes >> 20) MiB free): make room on it, "
                + "or stored messages will be refused")
    }
}
