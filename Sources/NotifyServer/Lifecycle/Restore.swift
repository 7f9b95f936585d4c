import Glibc
import NotifyStore
import NotifySystem
import SystemPackage

/// Replaces the configured database by a backup.
package enum Restore {
    /// Restores a backup. If the process runs as root and another user owns the folder of the database, it first
    /// changes to that user, because the database must belong to the daemon's user.
    ///
    /// - Returns: A line for the user.
    /// - Throws: ``ServerError`` or `StoreError`.
    package static func run(_ file: String, options: CommandLineOptions) throws -> String {
        let context = ProcessContext.takeFromProcess()
        let defaults = DefaultPaths(for: context)
        let configuration = try ConfigurationSources(options: options, context: context, defaults: defaults).load()
        let path = configuration.databasePath
        // The backup is opened before the change of the user, because the daemon's user may be unable to read it.
        let backup = try BackupSource(path: file)
        if let folder = try? Stat(FilePath(AccessProblem.directory(of: path))) {
            try becomeOwner(of: folder)
        } else if path == defaults.databasePath {
            try defaults.databaseDirectory?.prepare(owner: context.userID, purpose: "database")
        }
        return describe(try Store.restore(backup, to: path), path, file)
    }

    private static func describe(_ restored: RestoredLog, _ path: String, _ file: String) -> String {
        var text =
            "restored \(path) from \(file): messages \(restored.messages), durable subscriptions "
            + "\(restored.subscriptions); the next message has the sequence \(restored.nextSequence)"
        if let kept = restored.keptPath { text += "; the replaced database is kept as \(kept)" }
        if let reason = restored.unreadable { text += " (unreadable: \(reason))" }
        return text
    }

    private static func becomeOwner(of folder: Stat) throws(Errno) {
        let (user, group) = (folder.userID.rawValue, folder.groupID.rawValue)
        guard geteuid() == 0, user != 0 else { return }
        try Errno.check(setgroups(0, nil))
        try Errno.check(setgid(group))
        try Errno.check(setuid(user))
    }
}
