import Foundation
import Synchronization
import TestSupport

/// A real notifyd with a folder, a socket and a database of its own. It is ready when `start` returns.
final class Daemon: Sendable {
    let folder: TemporaryFolder
    let socket: String
    let database: String
    let options: [String]
    private let environment: [String: String?]
    private let running: Mutex<NotifydRun?> = Mutex(nil)

    /// Starts a daemon on fresh files, or on those of `folder`.
    static func start(
        _ options: [String] = [], environment: [String: String?] = [:], folder: TemporaryFolder? = nil
    ) async throws -> Daemon {
        let daemon = try Daemon(options, environment: environment, folder: folder)
        try await daemon.start()
        return daemon
    }

    init(_ options: [String] = [], environment: [String: String?] = [:], folder: TemporaryFolder? = nil) throws {
        let folder = try folder ?? TemporaryFolder()
        self.folder = folder
        self.options = options
        self.environment = environment
        socket = folder.file("socket")
        database = folder.file("notifyd.db")
    }

    var process: ChildProcess {
        guard let process = running.withLock({ $0?.process }) else { preconditionFailure("the daemon was not started") }
        return process
    }

    var manager: ServiceManager {
        guard let manager = running.withLock({ $0?.manager }) else { preconditionFailure("the daemon was not started") }
        return manager
    }

    /// Starts it, also again after it ended, and waits until it says that it is ready.
    func start(within limit: Duration = .seconds(300)) async throws {
        let run = try NotifydRun(
            ["--socket", socket, "--database", database] + options, environment: environment,
            managerPath: folder.file("manager"))
        running.withLock { $0 = run }
        try await run.ready(within: limit)
    }

    /// SIGKILL, and waits until it is gone.
    func kill() async throws {
        process.send(SIGKILL)
        try await process.waitForExit()
    }

    /// SIGTERM, and waits for the status it exits with.
    @discardableResult
    func stop(within limit: Duration = .seconds(300)) async throws -> ChildProcess.Exit {
        process.send(SIGTERM)
        return try await process.waitForExit(within: limit)
    }

    /// What the surroundings of the test could otherwise tell the programs.
    static let clean: [String: String?] = [
        "NOTIFYD_SOCKET": nil, "NOTIFYD_DATABASE": nil, "NOTIFYD_CONFIG": nil, "NOTIFYD_LOG_LEVEL": nil,
        "LISTEN_FDS": nil, "LISTEN_PID": nil, "LISTEN_FDNAMES": nil, "WATCHDOG_USEC": nil, "WATCHDOG_PID": nil,
    ]
}

// MARK: - What the kernel says about it

extension Daemon {
    /// Resident memory in bytes.
    var residentBytes: Int {
        get throws {
            let fields = try String(contentsOfFile: "/proc/\(process.pid)/statm", encoding: .utf8).split(separator: " ")
            return (Int(fields[1]) ?? 0) * Int(getpagesize())
        }
    }

    /// Descriptors open in it.
    var descriptorCount: Int {
        get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count }
    }

    /// Time that it has used processors for, in the kernel's ticks.
    var processorTicks: Int {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)
            // The program's name, in parentheses, may hold spaces. What follows it begins with the third field.
            let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
            return (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0)
        }
    }

    /// Memory that is its own, with its share of what it has in common with others, in bytes.
    var proportionalBytes: Int {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(process.pid)/smaps_rollup", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
            let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            return (kilobytes ?? 0) << 10
        }
    }
}

extension ChildProcess {
    /// After SIGSTOP: waits until it stands still. The signal has no effect to wait for, so the kernel is asked.
    func waitUntilStopped(within limit: Duration = .seconds(300)) throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            // The state follows the program's name, which stands in parentheses and may hold any character.
            if text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).hasPrefix("T") { return }
            sched_yield()
        }
        throw TimedOut(description: "timed out waiting for process \(pid) to stop")
    }
}
