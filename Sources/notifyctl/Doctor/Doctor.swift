import Glibc
import NotifyClient
import SystemPackage

/// Examines the daemon at a socket, its systemd units, configuration, database and disk. If the daemon does not answer,
/// also looks for the reason.
struct Doctor {
    private static let systemPath = "/run/notifyd/notifyd.sock"

    let path: String
    /// The paths where the search for the socket has looked; empty if the path was given.
    var searched: [String] = []
    let configuration: NotificationClient.Configuration

    /// The prefix of a command that only root may run.
    static var sudo: String { geteuid() == 0 ? "" : "sudo " }

    private var isOfSystem: Bool { path == Self.systemPath }

    /// Whether the socket is the one that this user's units open.
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
            let (statistics, durables, check, uses) = try await withNotificationClient(configuration: configuration) {
                client in
                let statistics = try await client.administration.statistics()
                let durables = try await client.administration.durableSubscriptions()
                // An older daemon might not know these requests. Any other daemon may refuse them to a user without the
                // right to manage everything, so errors are ignored.
                let isOlder = Self.isOlder(statistics.version)
                return (
                    statistics, durables, isOlder ? nil : try? await client.administration.check(),
                    isOlder ? nil : try? await client.administration.resourceUse()
                )
            }
            findings += Self.findings(daemonVersion: statistics.version)
            // The figure of the statistics may be out of date. The check finds out whether storing works.
            let works = statistics["storage_works"] != 0 && check?.storageProblem == nil
            findings += Self.findings(
                storageWorks: works, damagedMessages: statistics["damaged_messages"] ?? 0,
                damage: check?.problems.first?.text, storageProblem: check?.storageProblem,
                configurationProblem: check?.configurationProblem)
            findings += Self.findings(lags: durables.compactMap(Lag.init))
            findings += Self.findings(uses: uses ?? [])
        } catch {
            failure = error
        }
        // If a daemon answers at a socket that is not a default one, it may use other files than the check examines.
        let startFindings = failure != nil || isOfSystem || isDefault ? await startFindings() : []
        if let failure { findings += await self.findings(for: failure, canStart: startFindings.isEmpty) }
        // The search for the socket skips paths without a file, even if a daemon runs whose socket file was deleted.
        for candidate in searched where candidate != path {
            if let lost = await lostSocketFinding(candidate) { findings.append(lost) }
        }
        for manager in units { findings += await manager.findings() }
        // A daemon that answers may report the same problem. The finding about its answer then ends with the same text.
        let others = startFindings.filter { start in !findings.contains { $0.problem.hasSuffix(start.problem) } }
        return findings + others
    }

    // MARK: A daemon that does not answer

    private func findings(for error: any Error, canStart: Bool) async -> [Finding] {
        switch (error as? NotifyError)?.code {
        case .forbidden?: [SocketFile(path).refusal]
        case .noDaemon?: await noDaemonFindings(error, canStart: canStart)
        case .notConnected? where SocketLock.holder(ofSocket: path) != nil: [silentFinding]
        case .timedOut? where SocketLock.holder(ofSocket: path) != nil: [silentFinding]
        case .notConnected?, .timedOut?:
            [
                Finding(
                    problem: "a process listens on \(path) but does not answer as notifyd",
                    repair: Self.listenerRepair(path, unit: serviceRestart, sudo: Self.sudo))
            ]
        default: [Finding(problem: (error as? NotifyError)?.message ?? "\(error)", repair: nil)]
        }
    }

    private static let otherSocket = "give the daemon's socket with --socket"

    /// - Parameters:
    ///   - error: The error of the attempt to connect.
    ///   - canStart: Whether a start would succeed. If not, the reason is a finding of its own.
    private func noDaemonFindings(_ error: any Error, canStart: Bool) async -> [Finding] {
        if SocketFile(path).isOtherFile {
            return [Finding(problem: "\(path) is not a socket", repair: Self.otherSocket)]
        }
        if let error = error as? NotifyError, let finding = Self.connectFinding(error) { return [finding] }
        if let lost = await lostSocketFinding(path) { return [lost] }
        if let other = await otherDaemon() {
            return [
                Finding(
                    problem: "no daemon listens on \(path), but one answers at \(other)",
                    repair: "use --socket \(other), or unset NOTIFYD_SOCKET")
            ]
        }
        return [Finding(problem: "no daemon listens on \(path)", repair: canStart ? startCommand : nil)]
    }

    /// The finding that a connection failed for a reason that a start of the daemon would not change; nil if the daemon
    /// is missing.
    static func connectFinding(_ error: NotifyError) -> Finding? {
        switch (error.cause as? Errno)?.rawValue {
        case nil, ENOENT?, ECONNREFUSED?: nil
        // A loop of links, a file in place of a directory, or a socket for datagrams.
        case ELOOP?, ENOTDIR?, EPROTOTYPE?: Finding(problem: error.message, repair: otherSocket)
        default: Finding(problem: error.message, repair: nil)
        }
    }

    /// The finding that the daemon at the socket does not answer.
    private var silentFinding: Finding {
        let process = SocketLock.holder(ofSocket: path) ?? 0
        if Program.isStopped(process) {
            return Finding(
                problem: "notifyd at \(path), process \(process), is stopped by a signal",
                repair: "kill -CONT \(process)")
        }
        return Finding(
            problem: "notifyd at \(path), process \(process), does not answer",
            repair: "restart it: end the process with 'kill -KILL \(process)', then start it as before")
    }

    /// The command that restarts the service whose units open the socket; nil if no units do.
    private var serviceRestart: String? {
        units.first { $0.isInstalled && $0.isManagerRunning && $0.socketPath == path }?.command("restart notifyd")
    }

    /// The repair for a process that listens on a socket and does not answer.
    ///
    /// - Parameter unit: The command that restarts the service whose units open the socket. The service manager itself
    ///   listens on such a socket, so the listening process must not be ended. If nil, the process may be another
    ///   program than notifyd.
    static func listenerRepair(_ path: String, unit: String?, sudo: String) -> String {
        if let unit { return "restart notifyd: \(unit)" }
        return "find the process with '\(sudo)ss -xlp src \(path)' or '\(sudo)lsof \(path)'; restart it if it is "
            + "notifyd, and end it if it is not"
    }

    /// The finding that a daemon runs, but the file of its socket was deleted; nil if no such daemon is known.
    private func lostSocketFinding(_ path: String) async -> Finding? {
        guard !SocketFile(path).exists else { return nil }
        for units in units where units.isInstalled && units.isManagerRunning && units.socketPath == path {
            guard await units.isSocketActive() else { continue }
            return Finding(
                problem: "notifyd.socket is active, but the file of its socket, \(path), was deleted",
                repair: units.command("restart notifyd.socket"))
        }
        guard let process = SocketLock.holder(ofSocket: path) else { return nil }
        return Finding(
            problem: "notifyd runs as process \(process), but the file of its socket, \(path), was deleted",
            repair: "restart notifyd: end the process with 'kill \(process)', then start it as before")
    }

    /// Whether `notifyd` without options, started by this user, opens the socket.
    private var isDefault: Bool {
        (try? NotificationClient.socketPath(environment: Self.ownEnvironment)) == path
    }

    private var startCommand: String {
        if let units = units.first(where: { $0.isInstalled && $0.isManagerRunning }) {
            return units.command("start notifyd.socket")
        }
        if isOfSystem { return Self.sudo + "notifyd" }
        if isDefault { return "notifyd" }
        // The lock file of an earlier daemon exists. The other options of that daemon are unknown.
        return access(path + ".lock", F_OK) == 0
            ? "start notifyd as before, with its options" : "notifyd --socket \(path)"
    }

    /// Pings the daemons at the sockets that notifyctl uses by default, except `path`.
    ///
    /// - Returns: The first socket whose daemon answers; nil if none does.
    private func otherDaemon() async -> String? {
        let found = [try? NotificationClient.socketPath(environment: Self.ownEnvironment), Self.systemPath]
        for candidate in found.compactMap({ $0 }) where candidate != path {
            var configuration = configuration
            configuration.socketPath = candidate
            if (try? await withNotificationClient(configuration: configuration) { try await $0.ping() }) != nil {
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
