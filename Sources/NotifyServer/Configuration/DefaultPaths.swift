package import Glibc
import NotifySystem

/// Where the daemon's files are when nothing else is said: the system's places for root and for a system service, the
/// user's own for everybody else.
package struct DefaultPaths: Sendable, Equatable {
    package let socketPath: String
    /// Made with the socket if it is missing.
    package let socketFolder: ServiceDirectory
    /// `nil` if the user has no home folder to keep it in.
    package let databasePath: String?
    package let databaseFolder: ServiceDirectory?
    /// Read if it is there; `nil` if the user has no home folder.
    package let configurationPath: String?

    package static let systemSocketPath = "/run/notifyd/notifyd.sock"

    /// - Parameters:
    ///   - usersRuntimeFolder: where the login manager makes a folder for each user.
    ///   - temporaryFolder: where the socket's folder goes if the user has no runtime folder.
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

    /// Who may connect to a socket at `path`: everybody where the daemon is the system's, else its user alone.
    package func socketMode(for path: String, context: ProcessContext) -> mode_t {
        context.isRoot || path == Self.systemSocketPath ? 0o666 : 0o600
    }

    private static func socketFolder(
        _ context: ProcessContext, _ usersRuntimeFolder: String, _ temporaryFolder: String
    ) -> ServiceDirectory {
        if let given = context.serviceFolder("RUNTIME_DIRECTORY") {
            // The service manager made it; it is public where it is the system's.
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
    /// A folder that systemd made for the service, the first one if there are several.
    fileprivate func serviceFolder(_ name: String) -> String? {
        absolutePath(name)?.split(separator: ":").first.map(String.init)
    }
}
