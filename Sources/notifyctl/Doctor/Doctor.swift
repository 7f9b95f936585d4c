import Glibc
import NotifyClient

/// Examines the daemon at a socket, its systemd unit, configuration, database and disk. If the daemon does not answer,
/// also looks for the reason.
struct Doctor {
    private static let systemPath = "/run/notifyd/notifyd.sock"

    let path: String
    let configuration: NotifyClient.Configuration
    var unit = ServiceUnitFiles()

    private var isOfSystem: Bool { path == Self.systemPath }

    func examine() async -> [Finding] {
        var findings: [Finding] = []
        do {
            let statistics = try await withNotifyClient(configuration: configuration) { try await $0.statistics() }
            findings += Self.findings(daemonVersion: statistics.version)
        } catch {
            findings += await self.findings(for: error)
        }
        if isOfSystem, unit.isInstalled, !unit.isEnabled {
            findings.append(
                Finding(
                    problem: "notifyd.socket is installed but not enabled, so notifyd does not start at boot",
                    repair: "sudo systemctl enable --now notifyd.socket"))
        }
        return await findings + startFindings()
    }

    // MARK: A daemon that answers

    static func findings(daemonVersion: String) -> [Finding] {
        guard numbers(daemonVersion).lexicographicallyPrecedes(numbers(NotifyClient.version)) else { return [] }
        return [
            Finding(
                problem: "the daemon has version \(daemonVersion), older than notifyctl's \(NotifyClient.version)",
                repair: "install this version of notifyd, then restart it (for example sudo systemctl restart notifyd)")
        ]
    }

    private static func numbers(_ version: String) -> [Int] {
        version.split(separator: ".").map { Int($0) ?? 0 }
    }

    // MARK: A daemon that does not answer

    private func findings(for error: any Error) async -> [Finding] {
        switch (error as? NotifyError)?.code {
        case .forbidden?:
            [
                Finding(
                    problem: SocketFile(path).refusal,
                    repair: "run notifyctl as that user, or set socket_mode: \"0666\" in the daemon's configuration")
            ]
        case .noDaemon?: await noDaemonFindings()
        case .notConnected?:
            [
                Finding(
                    problem: "a process listens on \(path) but does not answer as notifyd",
                    repair: "restart it, for example with sudo systemctl restart notifyd")
            ]
        default: [Finding(problem: "\(error)", repair: nil)]
        }
    }

    private func noDaemonFindings() async -> [Finding] {
        if SocketFile(path).isOtherFile {
            return [Finding(problem: "\(path) is not a socket", repair: "give the daemon's socket with --socket")]
        }
        if let other = await otherDaemon() {
            return [
                Finding(
                    problem: "no daemon listens on \(path), but one answers at \(other)",
                    repair: "use --socket \(other), or unset NOTIFYD_SOCKET")
            ]
        }
        return [Finding(problem: "no daemon listens on \(path)", repair: startCommand)]
    }

    private var startCommand: String {
        if isOfSystem { return unit.isInstalled ? "sudo systemctl start notifyd.socket" : "sudo notifyd" }
        let isDefault = (try? NotifyClient.socketPath(environment: Self.ownEnvironment)) == path
        return isDefault ? "notifyd" : "notifyd --socket \(path)"
    }

    /// Pings the daemons at the sockets that notifyctl uses by default, except `path`.
    ///
    /// - Returns: The first socket whose daemon answers; nil if none does.
    private func otherDaemon() async -> String? {
        let found = [try? NotifyClient.socketPath(environment: Self.ownEnvironment), Self.systemPath]
        for candidate in found.compactMap({ $0 }) where candidate != path {
            var configuration = configuration
            configuration.socketPath = candidate
            if (try? await withNotifyClient(configuration: configuration) { try await $0.ping() }) != nil {
                return candidate
            }
        }
        return nil
    }

    /// The environment variables that determine the default socket, without `NOTIFYD_SOCKET`.
    private static var ownEnvironment: [String: String] {
        getenv("XDG_RUNTIME_DIR").map { ["XDG_RUNTIME_DIR": String(cString: $0)] } ?? [:]
    }

    // MARK: The daemon's files

    /// Whether the daemon is the systemd service, and the user `notifyd` of the service exists.
    private var isService: Bool { isOfSystem && unit.isInstalled && UserNames.uid(of: "notifyd") != nil }

    /// The problem that `notifyd --check-start` reports, if any. Only root can check the files of the system's daemon.
    private func startFindings() async -> [Finding] {
        guard !isOfSystem || geteuid() == 0 else { return [] }
        do {
            let result = try await StartCheck(asService: isService).run()
            return result.status == 0 ? [] : [Finding(problem: result.message, repair: nil)]
        } catch {
            return [Finding(problem: "notifyd can't be run: \(error)", repair: "install notifyd beside notifyctl")]
        }
    }
}
