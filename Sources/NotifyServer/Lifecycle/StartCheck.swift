import Glibc
import NotifyLog
import NotifyStore
import NotifySystem
import NotifyUnits

/// A check that the daemon can start. Changes nothing. The check also fails if the daemon would start but refuse to
/// store posts, because less space is free than `log.min_free_bytes`, the file system is nearly full, or the schema of
/// the database is altered. Other failures have the message of a failed start.
///
/// Does not check the socket of a system service, which the service manager opens.
package enum StartCheck {
    /// - Returns: A line for the user: the daemon can start, or already runs.
    /// - Throws: ``ServerError`` or `StoreError`.
    package static func run(options: CommandLineOptions) throws -> String {
        let context = ProcessContext.takeFromProcess()
        let defaults = DefaultPaths(for: context)
        let configuration = try ConfigurationSources(options: options, context: context, defaults: defaults).load()
        let path = configuration.databasePath
        let isSystemService = context.variable("STATE_DIRECTORY") != nil
        let socketUse = try isSystemService ? nil : socketUse(configuration.socketPath, defaults)
        try checkDisk(path, minimumFreeBytes: configuration.store.retention.minimumFreeBytes)
        // A missing default directory is created by a start.
        let isNew = path == defaults.databasePath && isDirectoryMissing(path)
        if let use = try (isNew ? nil : databaseUse(path)) ?? socketUse { return "notifyd runs already: \(use)" }
        if isNew || !Store.hasLog(path: path) { return "notifyd can start: it will create the database \(path)" }
        let usedBytes = try FileCheck.checkSchema(path: path)
        let limit = configuration.store.retention.maximumBytes
        return "notifyd can start with the database \(path)" + fullness(usedBytes, limit)
    }

    /// A warning about a log that takes 95% of its limit or more; empty for others.
    private static func fullness(_ usedBytes: UInt64, _ limit: UInt64?) -> String {
        guard let limit, usedBytes >= limit - limit / 20 else { return "" }
        return ", which takes \(Quantity.rounded(bytes: usedBytes)) of log.max_bytes "
            + "(\(Quantity.rounded(bytes: limit))): posts to be stored are refused at the limit unless history can be "
            + "deleted"
    }

    /// - Returns: The message that another process uses the socket; nil if it is free.
    private static func socketUse(_ path: String, _ defaults: DefaultPaths) throws(ServerError) -> String? {
        if path == defaults.socketPath, isDirectoryMissing(path) { return nil }
        do throws(ServerError) {
            try ListeningSocket.check(path: path)
            return nil
        } catch {
            guard error.code == .socketInUse else { throw error }
            return error.message
        }
    }

    /// - Returns: The message that another process uses the database; nil if it is free.
    private static func databaseUse(_ path: String) throws(StoreError) -> String? {
        do throws(StoreError) {
            try Store.check(path: path)
            return nil
        } catch {
            guard error.code == .inUse else { throw error }
            return error.message
        }
    }

    private static func isDirectoryMissing(_ path: String) -> Bool {
        access(AccessProblem.directory(of: path), F_OK) != 0 && errno == ENOENT
    }

    private static func checkDisk(_ path: String, minimumFreeBytes: UInt64) throws(ServerError) {
        var directory = AccessProblem.directory(of: path)
        // A missing default directory is created by a start.
        while access(directory, F_OK) != 0, errno == ENOENT, directory.contains("/"), directory != "/" {
            directory = AccessProblem.directory(of: directory)
        }
        guard let space = DiskSpace(at: directory) else { return }
        guard space.freeBytes >= minimumFreeBytes else {
            throw ServerError(
                .diskNearlyFull,
                "the file system of '\(directory)' has \(Quantity.rounded(bytes: space.freeBytes)) free, less than the "
                    + "\(Quantity.rounded(bytes: minimumFreeBytes)) "
                    + "of log.min_free_bytes: make room on it, or stored posts are refused")
        }
        guard space.isNearlyFull else { return }
        throw ServerError(
            .diskNearlyFull,
            "the file system of '\(directory)' is nearly full (\(Quantity.rounded(bytes: space.freeBytes)) free): make room on it, "
                + "or stored messages will be refused")
    }
}
