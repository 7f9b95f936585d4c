import Foundation
import Synchronization

/// A real notifyd with a folder, a socket and a database of its own. It is ready when `start` returns.
final class Daemon: Sendable {
    let folder: TemporaryFolder
    let socket: String
    let database: String
    let options: [String]
    private let environment: [String: String?]
    private let running: Mutex<(process: ChildProcess, manager: ServiceManager)?> = Mutex(nil)

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
    func start(within limit: Duration = .seconds(60)) async throws {
        let manager = try ServiceManager(path: folder.file("manager"))
        let process = try ChildProcess(
            Programs.notifyd, ["--socket", socket, "--database", database] + options,
            environment: Self.clean.merging(["NOTIFY_SOCKET": manager.path]) { $1 }.merging(environment) { $1 })
        running.withLock { $0 = (process, manager) }
        // Whichever comes first: an early end is a failure at once, not after the whole wait.
        let outcome = Watched<Bool?>(nil)
        let watch = Task {
            _ = try? await process.waitForExit(within: limit)
            outcome.update { if $0 == nil { $0 = false } }
        }
        let ready = Task {
            _ = try await manager.messages.wait("READY=1", within: limit) { $0.contains("READY=1") ? true : nil }
            outcome.update { if $0 == nil { $0 = true } }
        }
        defer {
            watch.cancel()
            ready.cancel()
        }
        guard try await outcome.wait("the daemon's start", within: limit, for: { $0 }) else {
            throw TimedOut(description: "the daemon ended at its start: \(process.standardError.current)")
        }
    }

    /// SIGKILL, and waits until it is gone.
    func kill() async throws {
        process.send(SIGKILL)
        try await process.waitForExit()
    }

    /// SIGTERM, and waits for the status it exits with.
    @discardableResult
    func stop(within limit: Duration = .seconds(60)) async throws -> ChildProcess.Exit {
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
}
