package import Glibc
import NotifySystem
import SystemPackage

/// The default paths of the daemon's files: in the system's directories for root and for a system service, otherwise in
/// directories of the user.
package struct DefaultPaths: Sendable, Equatable {
    package let socketPath: String
    /// The directory of the socket. Created with the socket if it is missing.
    package let socketDirectory: ServiceDirectory
    /// `nil` if the environment of a user's daemon names neither a state directory nor a home directory.
    package let databasePath: String?
    package let databaseDirectory: ServiceDirectory?
    /// The path of the configuration file, which need not exist. `nil` if the environment of a user's daemon names
    /// neither a configuration directory nor a home directory.
    package let configurationPath: String?

    /// Why `$XDG_RUNTIME_DIR` is not used, as a line for the log; `nil` if the variable is used or not set. Clients
    /// ignore the variable in the same cases.
    package let runtimeDirectoryProblem: String?

    package static let systemSocketPath = "/run/notifyd/notifyd.sock"

    /// - Parameters:
    ///   - usersRuntimeDirectory: The directory in which the login manager creates a runtime directory for each user.
    ///   - temporaryDirectory: The parent of the socket's directory for a user without a runtime directory.
    package init(
        for context: ProcessContext, usersRuntimeDirectory: String = "/run/user", temporaryDirectory: String = "/tmp"
    ) {
        let home = context.absolutePath("HOME")
        let socketDirectory = Self.socketDirectory(context, usersRuntimeDirectory, temporaryDirectory)
        let databaseDirectory = Self.databaseDirectory(context, home: home)
        self.socketDirectory = socketDirectory
        self.databaseDirectory = databaseDirectory
        socketPath = socketDirectory.path + "/notifyd.sock"
        databasePath = databaseDirectory.map { $0.path + "/notifyd.db" }
        configurationPath = Self.configurationDirectory(context, home: home).map { $0 + "/notifyd.yaml" }
        runtimeDirectoryProblem =
            context.isRoot
            ? nil
            : context.absolutePath("XDG_RUNTIME_DIR").flatMap {
                Self.problem(ofRuntimeDirectory: $0, context).map { "XDG_RUNTIME_DIR is not used: \($0)" }
            }
    }

    /// The default permission bits of a socket at `path`: all users may connect to the system's daemon, and to a daemon
    /// of root. Only its own user may connect to any other daemon.
    package func socketMode(for path: String, context: ProcessContext) -> mode_t {
        context.isRoot || path == Self.systemSocketPath ? 0o666 : 0o600
    }

    private static func socketDirectory(
        _ context: ProcessContext, _ usersRuntimeDirectory: String, _ temporaryDirectory: String
    ) -> ServiceDirectory {
        if let given = context.serviceDirectory("RUNTIME_DIRECTORY") {
            // The service manager created the directory. Only the directory of the system's socket is open to all
            // users.
            return ServiceDirectory(path: given, mode: given + "/notifyd.sock" == systemSocketPath ? 0o755 : 0o700)
        }
        if context.isRoot { return ServiceDirectory(path: AccessProblem.directory(of: systemSocketPath), mode: 0o755) }
        if let runtime = context.absolutePath("XDG_RUNTIME_DIR"),
            problem(ofRuntimeDirectory: runtime, context) == nil
        {
            return ServiceDirectory(path: runtime + "/notifyd", mode: 0o700)
        }
        let runtime = "\(usersRuntimeDirectory)/\(context.userID)"
        if access(runtime, F_OK) == 0, problem(ofRuntimeDirectory: runtime, context) == nil {
            return ServiceDirectory(path: runtime + "/notifyd", mode: 0o700)
        }
        return ServiceDirectory(path: "\(temporaryDirectory)/notifyd-\(context.userID)", mode: 0o700)
    }

    /// Why another user could replace the socket's directory in the runtime directory at `path`; `nil` if no other user
    /// could, or if `path` does not exist.
    private static func problem(ofRuntimeDirectory path: String, _ context: ProcessContext) -> String? {
        guard let status = try? Stat(FilePath(path)) else { return nil }
        let (owner, mode) = (status.userID.rawValue, status.permissions.rawValue)
        guard owner == context.userID || owner == 0 else { return "'\(path)' belongs to uid \(owner)" }
        // In a sticky directory such as /tmp, other users can't replace a directory of this user.
        guard mode & 0o022 == 0 || mode & S_ISVTX != 0 else {
            return "other users may write to '\(path)' (mode 0\(String(mode & 0o7777, radix: 8)))"
        }
        return nil
    }

    private static func databaseDirectory(_ context: ProcessContext, home: String?) -> ServiceDirectory? {
        if let given = context.serviceDirectory("STATE_DIRECTORY") { return ServiceDirectory(path: given, mode: 0o700) }
        if context.isRoot { return ServiceDirectory(path: "/var/lib/notifyd", mode: 0o700) }
        let state = context.absolutePath("XDG_STATE_HOME") ?? home.map { $0 + "/.local/state" }
        return state.map { ServiceDirectory(path: $0 + "/notifyd", mode: 0o700) }
    }

    private static func configurationDirectory(_ context: ProcessContext, home: String?) -> String? {
        if let given = context.serviceDirectory("CONFIGURATION_DIRECTORY") { return given }
        if context.isRoot { return "/etc/notifyd" }
        return (context.absolutePath("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" }).map { $0 + "/notifyd" }
    }
}

extension ProcessContext {
    /// The directory that systemd created for the service and passed in this environment variable; the first one if the
    /// variable contains several.
    fileprivate func serviceDirectory(_ name: String) -> String? {
        absolutePath(name)?.split(separator: ":").first.map(String.init)
    }
}
