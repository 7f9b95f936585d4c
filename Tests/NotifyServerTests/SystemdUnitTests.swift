import Foundation
import Testing
import TestSupport

@testable import NotifyServer

/// Checks the files in `systemd/` with the tools of systemd, if they are installed.
@Suite(.timeLimit(.minutes(25))) struct SystemdUnitTests {
    private static let units = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("systemd").path

    private static func isInstalled(_ tool: String) -> Bool { access("/usr/bin/\(tool)", X_OK) == 0 }

    @Test(.enabled(if: isInstalled("systemd-analyze")), arguments: ["system", "user"])
    func `systemd-analyze accepts the units`(_ scope: String) throws {
        #expect(try verify(scope) { $0 } == Output(text: "", status: 0))
    }

    @Test(.enabled(if: isInstalled("systemd-analyze")), arguments: ["system", "user"])
    func `systemd-analyze reports a misspelled key`(_ scope: String) throws {
        let output = try verify(scope) { $0.replacingOccurrences(of: "WatchdogSec=", with: "WatchdogSecs=") }
        #expect(output.text.contains("WatchdogSecs"))
    }

    @Test(.enabled(if: isInstalled("systemd-sysusers")))
    func `sysusers creates the service's user`() throws {
        let root = try TemporaryFolder()
        let output = try run(
            "systemd-sysusers", "--root=\(root.path)", "--dry-run", "\(Self.units)/sysusers.d/notifyd.conf")
        #expect(output.status == 0)
        #expect(output.text.contains("user 'notifyd'"))
        #expect(try service("system").contains("User=notifyd\nGroup=notifyd\n"))
    }

    @Test func `the units agree with the daemon's defaults`() throws {
        let socket = try String(contentsOfFile: "\(Self.units)/system/notifyd.socket", encoding: .utf8)
        #expect(socket.contains("ListenStream=\(DefaultPaths.systemSocketPath)\n"))
        #expect(socket.contains("Backlog=\(ListeningSocket.backlog)\n"))
        #expect(!socket.contains("Accept=yes"))
        let drain = ServerConfiguration(socketPath: "", socketMode: 0, databasePath: "").drainDeadline
        for scope in ["system", "user"] {
            let service = try service(scope)
            #expect(service.contains("\nType=notify\n"))
            #expect(service.contains("\nTimeoutStopSec=30\n"))
            #expect(drain + .seconds(5) < .seconds(30))
            #expect(!service.contains("\nPrivateUsers="))
            #expect(!service.contains("\nDynamicUser="))
        }
    }

    @Test
    func `the units keep the shared memory with the lowest unused sequence`() throws {
        for scope in ["system", "user"] {
            #expect(try !service(scope).contains("\nRemoveIPC=yes\n"))
        }
    }

    @Test(arguments: ["system", "user"])
    func `a worker is restarted without limit, unless a restart would fail again`(scope: String) throws {
        let worker = try service(scope, "notifyd-worker@")
        let sections = try #require(worker.range(of: "\n[Service]\n"))
        #expect(worker[..<sections.lowerBound].contains("\nStartLimitIntervalSec=0\n"))
        let service = worker[sections.lowerBound...]
        #expect(service.contains("\nRestart=on-failure\n") && service.contains("\nRestartSec=5\n"))
        #expect(service.contains("\nRestartPreventExitStatus=64 77 127\n"))
        // A stop signals only the worker. It takes no further jobs, waits for the running ones, and passes a second
        // signal on to them.
        #expect(service.contains("\nKillMode=mixed\n"))
    }

    private func service(_ scope: String, _ name: String = "notifyd") throws -> String {
        try String(contentsOfFile: "\(Self.units)/\(scope)/\(name).service", encoding: .utf8)
    }

    /// Verifies copies of the units. In the copies, `/bin/true` replaces the daemon.
    private func verify(_ scope: String, changing change: (String) -> String) throws -> Output {
        let folder = try TemporaryFolder()
        let socket = try String(contentsOfFile: "\(Self.units)/\(scope)/notifyd.socket", encoding: .utf8)
        let service = try service(scope)
        let command = "ExecStart=/usr/local/bin/notifyd\n"
        #expect(service.contains(command))
        let standIn = change(service.replacingOccurrences(of: command, with: "ExecStart=/bin/true\n"))
        return try run(
            "systemd-analyze", "--\(scope)", "verify", "--man=no", folder.write(socket, to: "notifyd.socket"),
            folder.write(standIn, to: "notifyd.service"),
            environment: [
                "SYSTEMD_UNIT_PATH": "\(folder.path):/usr/lib/systemd/\(scope)", "XDG_RUNTIME_DIR": folder.path,
                "HOME": folder.path,
            ])
    }

    private struct Output: Equatable {
        var text: String
        var status: Int32
    }

    private func run(_ tool: String, _ arguments: String..., environment: [String: String] = [:]) throws -> Output {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(tool)")
        process.arguments = arguments
        process.environment = environment
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Output(text: text, status: process.terminationStatus)
    }
}
