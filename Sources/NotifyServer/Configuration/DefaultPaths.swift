package import Glibc
import NotifySystem

/// The default paths of the daemon's files: the system's folders for root and for a system service, folders of the user
/// otherwise.
package struct DefaultPaths: Sendable, Equatable {
    package let socketPath: String
    /// Created with the socket if it is missing.
    package let socketFolder: ServiceDirectory
    /// `nil` if the user has no home folder.
    package let databasePath: String?
    package let databaseFolder: ServiceDirectory?
    /// Read if the file exists. `nil` if the user has no home folder.
    package let configurationPath: String?

    package static let systemSocketPath = "/run/notifyd/notifyd.sock"

    /// - Parameters:
    ///   - usersRuntimeFolder: The folder in which the login manager creates a runtime folder for each user.
    ///   - temporaryFolder: The parent of the socket's folder for a user without a runtime folder.
    package init(
        for context: ProcessContext, usersRuntimeFolder: String = "/run/user", temporaryFolder: String = "/tmp"
    ) {
        let home = context.absolutePath("HOME")
        let socketFolder = Self.socketFolder(context, usersRuntimeFolder, temporaryFolder)
        let databaseFolder = Self.databaseFolder(context, home: home)
        self.socketFolder = socketFolder
        self.databaseFolder = databaseFolder
        socketPath = socketFolder.path + "/notifyd.sock"
        databasePath = databaseFolder.map { $0.path + "/notifyd.db" }
        configurationPath = Self.configurationFolder(context, home: home).map { $0 + "/notifyd.yaml" }
    }

    /// The default permission bits of a socket at `path`: all users may connect to the system's daemon, and only its
    /// own user to any other.
    package func socketMode(for path: String, context: ProcessContext) -> mode_t {
        context.isRoot || path == Self.systemSocketPath ? 0o666 : 0o600
    }

    private static func socketFolder(
        _ context: ProcessContext, _ usersRuntimeFolder: String, _ temporaryFolder: String
    ) -> ServiceDirectory {
        if let given = context.serviceFolder("RUNTIME_DIRECTORY") {
            // The service manager created it; only the system's is public.
            return ServiceDirectory(path: given, mode: given + "/notifyd.sock" == systemSocketPath ? 0o755 : 0o700)
        }
        if context.isRoot { return ServiceDirectory(path: AccessProblem.folder(of: systemSocketPath), mode: 0o755) }
        if let runtime = context.absolutePath("XDG_RUNTIME_DIR") {
            return ServiceDirectory(path: runtime + "/notifyd", mode: 0o700)
        }
        let runtime = "\(usersRuntimeFolder)/\(context.userID)"
        if access(runtime, F_OK) == 0 { return ServiceDirectory(path: runtime + "/notifyd", mode: 0o700) }
        return ServiceDirectory(path: "\(temporaryFolder)/notifyd-\(context.userID)", mode: 0o700)
    }

    private static func databaseFolder(_ context: ProcessContext, home: String?) -> ServiceDirectory? {
        if let given = context.serviceFolder("STATE_DIRECTORY") { return ServiceDirectory(path: given, mode: 0o700) }
        if context.isRoot { return ServiceDirectory(path: "/var/lib/notifyd", mode: 0o700) }
        let state = context.absolutePath("XDG_STATE_HOME") ?? home.map { $0 + "/.local/state" }
        return state.map { ServiceDirectory(path: $0 + "/notifyd", mode: 0o700) }
    }

    private static func configurationFolder(_ context: ProcessContext, home: String?) -> String? {
        if let given = context.serviceFolder("CONFIGURATION_DIRECTORY") { return given }
        if context.isRoot { return "/etc/notifyd" }
        return (context.absolutePath("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" }).map { $0 + "/notifyd" }
    }
}

extension ProcessContext {
    /// The folder that systemd created for the service and passed in this variable; the first if there are several.
    fileprivate func serviceFolder(_ name: String) -> String? {
        absolutePath(name)?.split(separator: ":").first.map(String.init)
    }
}
