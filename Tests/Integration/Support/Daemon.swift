import Foundation
import Synchronization
import TestSupport
import Testing

/// A notifyd process with its own folder, socket and database. It is ready when `start` returns.
final class Daemon: Sendable {
    let folder: TemporaryFolder
    let socket: String
    let database: String
    let options: [String]
    private let environment: [String: String?]
    private let running: Mutex<NotifydRun?> = Mutex(nil)

    /// Starts a daemon with new files, or with the files in `folder`.
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

    /// Starts the daemon, or restarts it after it has ended, and waits until it is ready.
    func start(within limit: Duration = .seconds(300)) async throws {
        let run = try NotifydRun(
            ["--socket", socket, "--database", database] + options, environment: environment,
            managerPath: folder.file("manager"))
        running.withLock { $0 = run }
        try await run.ready(within: limit)
    }

    /// Kills the daemon with SIGKILL, and waits until it has ended.
    func kill() async throws {
        process.send(SIGKILL)
        try await process.waitForExit()
    }

    /// Terminates the daemon with SIGTERM, and returns its exit status.
    @discardableResult
    func stop(within limit: Duration = .seconds(300)) async throws -> ChildProcess.Exit {
        process.send(SIGTERM)
        return try await process.waitForExit(within: limit)
    }

    /// Unsets the variables of the environment that would affect the programs.
    static let clean: [String: String?] = [
        "NOTIFYD_SOCKET": nil, "NOTIFYD_DATABASE": nil, "NOTIFYD_CONFIG": nil, "NOTIFYD_LOG_LEVEL": nil,
        "LISTEN_FDS": nil, "LISTEN_PID": nil, "LISTEN_FDNAMES": nil, "WATCHDOG_USEC": nil, "WATCHDOG_PID": nil,
        // On a busy machine, the daemon answers slowly.
        "NOTIFYCTL_ANSWER_TIMEOUT": "100s",
    ]
}

// MARK: - Database

extension Daemon {
    /// Changes a text in the database, and in unused parts of its pages. The daemon must be stopped.
    func damage(_ text: String) throws {
        let url = URL(fileURLWithPath: database)
        var data = try Data(contentsOf: url)
        var count = 0
        while let range = data.range(of: Data(text.utf8)) {
            data[range.lowerBound] ^= 1
            count += 1
        }
        try #require(count > 0)
        try data.write(to: url)
    }
}

// MARK: - Process state

extension Daemon {
    /// The resident memory in bytes.
    var residentBytes: Int {
        get throws {
            let fields = try String(contentsOfFile: "/proc/\(process.pid)/statm", encoding: .utf8).split(separator: " ")
            return (Int(fields[1]) ?? 0) * Int(getpagesize())
        }
    }

    /// The number of open file descriptors.
    var descriptorCount: Int {
        get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.pid)/fd").count }
    }

    /// The used processor time, in clock ticks of the kernel.
    var processorTicks: Int {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)
            // The program's name, in parentheses, may contain spaces. The third field follows it.
            let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
            return (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0)
        }
    }

    /// The proportional set size in bytes: private memory, and a share of the memory shared with other processes.
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
    /// Waits until the process is suspended after SIGSTOP. There is no event for this, so this polls the kernel.
    func waitUntilStopped(within limit: Duration = .seconds(300)) throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            // The state follows the program's name, which is in parentheses and may contain any character.
            if text[(text.lastIndex(of: ")") ?? text.startIndex)...].dropFirst(2).hasPrefix("T") { return }
            sched_yield()
        }
        throw TimedOut(description: "timed out waiting for process \(pid) to stop")
    }
}
