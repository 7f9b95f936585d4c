import Glibc
import NotifyClient

/// Examines the daemon at a socket, its systemd units, configuration, database and disk. If the daemon does not answer,
/// also looks for the reason.
struct Doctor {
    private static let systemPath = "/run/notifyd/notifyd.sock"

    let path: String
    let configuration: NotifyClient.Configuration

    private var isOfSystem: Bool { path == Self.systemPath }

    /// Whether the socket is that of the user's units.
    private var isOfUser: Bool { path == ServiceUnits.userSocketPath }

    /// The units that may start the daemon. For the system's socket, these include the units of this user, because
    /// clients use the system's socket while no daemon of the user runs.
    private var units: [ServiceUnits] {
        let system = isOfSystem ? [ServiceUnits(of: .system)] : []
        let isUsers = isOfUser || (isOfSystem && geteuid() != 0)
        return system + (isUsers && ServiceUnits.hasUserManager ? [ServiceUnits(of: .user)] : [])
    }

    func examine() async -> [Finding] {
        var findings: [Finding] = []
        var failure: (any Error)?
        do {
            let (statistics, durables, check) = try await withNotifyClient(configuration: configuration) { client in
                let (statistics, durables) = (try await client.statistics(), try await client.durableSubscriptions())
                // An older daemon may not know the request. Others refuse it to users who may not manage them.
                let isOlder = Self.isOlder(statistics.version)
                return (statistics, durables, isOlder ? nil : try? await client.check())
            }
            findings += Self.findings(daemonVersion: statistics.version)
            findings += Self.findings(
                storageWorks: statistics["storage_works"] != 0, damagedMessages: statistics["damaged_messages"] ?? 0,
                damage: check?.problems.first?.text)
            findings += Self.findings(lags: durables.map { Lag(name: $0.name, uid: $0.uid, behind: $0.behind) })
        } catch {
            failure = error
        }
        let startFindings = await startFindings()
        if let failure { findings += await self.findings(for: failure, canStart: startFindings.isEmpty) }
        for manager in units { findings += await manager.findings() }
        return findings + startFindings
    }

    // MARK: A daemon that answers

    static func findings(daemonVersion: String) -> [Finding] {
        guard isOlder(daemonVersion) else { return [] }
        return [
            Finding(
                problem: "the daemon has version \(daemonVersion), older than notifyctl's \(NotifyClient.version)",
                repair: "install this version of notifyd, then restart it (for example sudo systemctl restart notifyd)")
        ]
    }

    /// - Parameter damage: Damage besides messages; nil if there is none, or this user may not know.
    static func findings(storageWorks: Bool, damagedMessages: UInt64, damage: String?) -> [Finding] {
        var findings: [Finding] = []
        if let damage {
            findings.append(
                Finding(
                    problem: "the log is damaged, and the daemon refuses to store: \(damage)",
                    repair: "stop notifyd, then write what is sound to a new file with notifyd --repair, as its user"))
        } else if !storageWorks {
            findings.append(
                Finding(
                    problem: "the daemon can't store messages",
                    repair: "read the reason in the daemon's log, for example with journalctl --unit notifyd"))
        }
        if damagedMessages > 0 {
            findings.append(
                Finding(
                    problem: "\(damagedMessages) messages in the log are known to be damaged, and are not delivered",
                    repair: "list them with notifyctl check; restore a backup if they are needed"))
        }
        return findings
    }

    /// A durable subscription, and the number of sequences that it is behind the end of the log.
    struct Lag {
        var name: String
        var uid: UInt32
        var behind: UInt64
    }

    private static let longLag = 100_000
    private static let namedLags = 5

    /// A finding that names the durable subscriptions that are far behind, furthest first; empty if there are none.
    static func findings(lags: [Lag]) -> [Finding] {
        let long = lags.filter { $0.behind >= longLag }.sorted { $0.behind > $1.behind }
        guard !long.isEmpty else { return [] }
        var names = long.prefix(namedLags).map { "\($0.name) of uid \($0.uid) (\($0.behind))" }
        if long.count > namedLags { names.append("\(long.count - namedLags) more") }
        return [
            Finding(
                problem: "durable subscriptions are \(longLag) or more sequences behind the end of the log: "
                    + names.joined(separator: ", "),
                repair: "start their consumers, or remove those that are not needed: notifyctl durable remove NAME")
        ]
    }

    private static func isOlder(_ daemonVersion: String) -> Bool {
        numbers(daemonVersion).lexicographicallyPrecedes(numbers(NotifyClient.version))
    }

    private static func numbers(_ version: String) -> [Int] {
        version.split(separator: ".").map { Int($0) ?? 0 }
    }

    // MARK: A daemon that does not answer

    private func findings(for error: any Error, canStart: Bool) async -> [Finding] {
        switch (error as? NotifyError)?.code {
        case .forbidden?:
            [
                Finding(
                    problem: SocketFile(path).refusal,
                    repair: "run notifyctl as that user, or set socket_mode: \"0666\" in the daemon's configuration")
            ]
        case .noDaemon?: await noDaemonFindings(canStart: canStart)
        case .notConnected?:
            [
                Finding(
                    problem: "a process listens on \(path) but does not answer as notifyd",
                    repair: "restart it, for example with sudo systemctl restart notifyd")
            ]
        default: [Finding(problem: "\(error)", repair: nil)]
        }
    }

    /// - Parameter canStart: Whether a start would succeed. If not, the reason is a finding of its own.
    private func noDaemonFindings(canStart: Bool) async -> [Finding] {
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
        return [Finding(problem: "no daemon listens on \(path)", repair: canStart ? startCommand : nil)]
    }

    private var startCommand: String {
        if let units = units.first(where: { $0.isInstalled && $0.isManagerRunning }) {
            return units.command("start notifyd.socket")
        }
        if isOfSystem { return "sudo notifyd" }
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
    private var isService: Bool {
        let units = ServiceUnits(of: .system)
        return isOfSystem && units.isInstalled && units.isManagerRunning && UserNames.uid(of: "notifyd") != nil
    }

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
