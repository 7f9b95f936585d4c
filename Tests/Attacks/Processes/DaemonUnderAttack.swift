import Foundation
import NotifyWire
import TestSupport

/// A new notifyd process with its own files and a socket that all users may connect to.
final class DaemonUnderAttack {
    /// The daemon's memory limit in bytes.
    static let budget = 256 << 20
    /// The resident memory in bytes allowed above the limit, for code, stacks, and freed memory that malloc keeps.
    static let allowance = 64 << 20

    let socket: String
    private let folder: TemporaryFolder
    private let process: Child
    private var hangFile: String { folder.file("hang") }

    /// - Parameters:
    ///   - canHang: Whether ``hang(_:)`` can be used, which requires clang.
    ///   - userLimits: Limits of each user, by the names of their settings. The others have their defaults.
    init(_ program: DaemonProgram, canHang: Bool = false, userLimits: [String: Int] = [:]) throws {
        folder = try TemporaryFolder()
        socket = folder.file("socket")
        chmod(folder.path, 0o755)
        var environment = [
            "NOTIFYD_SOCKET_MODE": "0666", "NOTIFYD_LIMITS_MEMORY_BYTES": "\(Self.budget)",
            "NOTIFYD_LIMITS_PER_CONNECTION_OUTBOX_BYTES": "\(program.outboxBytes)", "NOTIFYD_LOG_LEVEL": "error",
        ]
        for (name, limit) in userLimits { environment["NOTIFYD_LIMITS_PER_USER_\(name.uppercased())"] = "\(limit)" }
        if canHang {
            environment["LD_PRELOAD"] = try Self.makeLibrary(in: folder)
            environment["HANGING_DISK"] = folder.file("hang")
        }
        // The daemon ends with the harness, even if the harness is killed, and has the same priority as the innocents.
        let launcher = ["nice", "--adjustment=-10", "setpriv", "--pdeathsig", "KILL"]
        process = try Child(
            "/usr/bin/env", launcher + [program.path, "--socket", socket, "--database", folder.file("notifyd.db")],
            environment: environment)
        try waitForSocket()
    }

    var pid: pid_t { process.pid }
    var isRunning: Bool { process.isRunning }

    private static func makeLibrary(in folder: TemporaryFolder) throws -> String {
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "HangingDisk.c").path
        let library = folder.file("hang.so")
        let compiler = try Child("/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, source, "-ldl"])
        compiler.waitForExit()
        guard compiler.status == 0 else {
            throw HarnessError("can't compile the library that simulates a hanging disk")
        }
        return library
    }

    private func waitForSocket() throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let connection = try? Connection(socket),
                Connection.serve([connection], until: { connection.scanner.count(.welcome) == 1 })
            {
                return
            }
            guard isRunning, ContinuousClock.now < deadline else {
                throw HarnessError("timed out waiting for notifyd to start")
            }
            usleep(10_000)
        }
    }

    /// Blocks the daemon's writes to its database if true, and resumes them if false.
    func hang(_ isHanging: Bool) {
        if isHanging { close(open(hangFile, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)) } else { unlink(hangFile) }
    }

    /// Ends the daemon with SIGTERM, and returns its exit status.
    func stop() -> Int32 {
        process.signal(SIGTERM)
        process.waitForExit()
        return process.status
    }

    func kill() {
        process.signal(SIGKILL)
    }

    // MARK: Memory

    /// Resident memory in bytes.
    var residentBytes: Int { status("VmRSS:") }

    /// Peak resident memory in bytes since the last ``resetPeak()``.
    var peakBytes: Int { status("VmHWM:") }

    func resetPeak() {
        try? "5".write(toFile: "/proc/\(pid)/clear_refs", atomically: false, encoding: .utf8)
    }

    private func status(_ field: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(field) }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}

/// The reason that a measurement failed.
struct HarnessError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
