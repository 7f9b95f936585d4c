import Glibc

/// The units of notifyd in the service manager of the system, or of this user.
struct ServiceUnits {
    enum Manager {
        case system
        case user
    }

    let manager: Manager
    private let folders: [String]

    init(of manager: Manager) {
        self.manager = manager
        folders =
            switch manager {
            case .system: ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map { $0 + "/systemd/system" }
            case .user: Self.ownFolders + ["/etc", "/run", "/usr/local/lib", "/usr/lib"].map { $0 + "/systemd/user" }
            }
    }

    /// The folders of this user's own units.
    private static var ownFolders: [String] {
        let home = variable("HOME")
        let parents = [
            variable("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" },
            variable("XDG_DATA_HOME") ?? home.map { $0 + "/.local/share" },
            variable("XDG_RUNTIME_DIR"),
        ]
        return parents.compactMap { $0 }.map { $0 + "/systemd/user" }
    }

    /// The socket that the user's units open; nil without a runtime directory.
    static var userSocketPath: String? { variable("XDG_RUNTIME_DIR").map { $0 + "/notifyd/notifyd.sock" } }

    /// Whether a service manager of this user is running.
    static var hasUserManager: Bool { variable("XDG_RUNTIME_DIR").map { exists($0 + "/systemd/private") } ?? false }

    /// Whether the service manager runs. For the system's manager this is the test of sd_booted(3).
    var isManagerRunning: Bool { manager == .system ? Self.exists("/run/systemd/system") : Self.hasUserManager }

    var isInstalled: Bool { folders.contains { Self.exists("\($0)/notifyd.socket") } }

    var isEnabled: Bool { folders.contains { Self.exists("\($0)/sockets.target.wants/notifyd.socket") } }

    /// The path of the socket that the units open; nil without a runtime directory.
    var socketPath: String? { manager == .system ? "/run/notifyd/notifyd.sock" : Self.userSocketPath }

    /// Whether the manager has opened the socket.
    func isSocketActive() async -> Bool {
        (try? await Program.run(systemctl + ["is-active", "--quiet", "notifyd.socket"]))?.status == 0
    }

    /// The units that have failed.
    func failed() async -> [String] {
        var failed: [String] = []
        for unit in ["notifyd.socket", "notifyd.service"] {
            let command = systemctl + ["is-failed", "--quiet", unit]
            if let result = try? await Program.run(command), result.status == 0 { failed.append(unit) }
        }
        return failed
    }

    /// The problems of installed units.
    func findings() async -> [Finding] {
        guard isInstalled, isManagerRunning else { return [] }
        var findings: [Finding] = []
        if !isEnabled {
            let event = manager == .system ? "boot" : "login"
            findings.append(
                Finding(
                    problem: "notifyd.socket is installed but not enabled, so notifyd does not start at \(event)",
                    repair: command("enable --now notifyd.socket")))
        }
        for unit in await failed() {
            findings.append(
                Finding(
                    problem: "\(unit) has failed: \(command("status \(unit)")) shows why",
                    repair: "remove the cause, then \(command("restart notifyd.socket"))"))
        }
        return findings
    }

    /// A systemctl command line for the user to run.
    func command(_ arguments: String) -> String {
        (manager == .system ? Doctor.sudo + "systemctl " : "systemctl --user ") + arguments
    }

    private var systemctl: [String] { manager == .system ? ["systemctl"] : ["systemctl", "--user"] }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether a file, a directory or a link exists at the path. A dangling link counts, too.
    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
