import Foundation
import NotifyWire
import Testing
import TestSupport

@testable import NotifyServer

/// The program `notifyd` itself: options, exit status, signals.
@Suite(.timeLimit(.minutes(25)), .serialized) struct NotifydCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var paths: [String] { ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")] }

    private var environment: [String: String] {
        ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.file("run"), "XDG_CONFIG_HOME": folder.file("config")]
    }

    private func daemon(_ options: [String] = [], _ variables: [String: String] = [:]) throws -> DaemonProcess {
        try DaemonProcess(paths + options, environment: environment.merging(variables) { $1 })
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends the daemon with status 0 and removes its socket`(_ signal: CInt) throws {
        let daemon = try daemon()
        daemon.waitForError("listening on \(folder.file("n.sock"))")
        #expect(try canConnect(to: folder.file("n.sock")))
        daemon.signal(signal)
        let end = daemon.end()
        #expect(end.status == 0)
        #expect(!exists(folder.file("n.sock")))
        #expect(end.output == "")
    }

    @Test func `a second daemon is refused with one line and status 1`() throws {
        let first = try daemon()
        first.waitForError("listening on")
        let second = try daemon().end()
        #expect(second.status == 1)
        let refusal = "notifyd: another notifyd (pid \(first.processID)) holds the socket \(folder.file("n.sock")): "
        #expect(second.errors.hasPrefix(refusal))
        #expect(second.errors.split(separator: "\n").count == 1)
        #expect(try canConnect(to: folder.file("n.sock")))
        first.signal(SIGTERM)
        #expect(first.end().status == 0)
    }

    @Test(arguments: ["state", "none/state"])
    func `a check of the start reports a full disk even if the default folder is missing`(_ directory: String) throws {
        let check = try DaemonProcess(
            ["--check-start", "--socket", folder.file("n.sock")],
            environment: environment.merging([
                "STATE_DIRECTORY": folder.file(directory), "NOTIFYD_LOG_MIN_FREE_BYTES": "16TiB",
            ]) { $1 }
        ).end()
        #expect(check.status == 1)
        #expect(check.errors.contains("the file system of '\(folder.path)' has"), "\(check.errors)")
        #expect(check.errors.contains("less than the 16TiB of log.min_free_bytes"))
        #expect(!exists(folder.file(directory)))
    }

    @Test func `a killed daemon is replaced`() throws {
        let killed = try daemon()
        killed.waitForError("listening on")
        killed.signal(SIGKILL)
        _ = killed.end()
        #expect(exists(folder.file("n.sock")))
        let next = try daemon()
        next.waitForError("listening on")
        next.signal(SIGTERM)
        #expect(next.end().status == 0)
    }

    private static let refused: [([String], Int32)] = [
        (["--bogus"], 64), (["--log-level", "loud"], 64), (["--socket", ""], 64), (["extra"], 64), (["--config"], 64),
        (["--config", "/nowhere/n.yaml"], 1), (["--socket", "/tmp/" + String(repeating: "x", count: 103)], 1),
        (["--socket", "/nowhere/n.sock"], 1), (["--socket", "/dev/null"], 1),
    ]

    @Test(arguments: refused)
    func `wrong usage has the exit status 64, and an unusable path 1`(_ options: [String], _ status: Int32) throws {
        let end = try DaemonProcess(["--database", folder.file("n.db")] + options, environment: environment).end()
        #expect(end.status == status)
        #expect(end.output == "")
        if status == 1 {
            #expect(end.errors.hasPrefix("notifyd: "))
            #expect(end.errors.split(separator: "\n").count == 1)
        }
        #expect(exists("/dev/null"))
    }

    @Test func `a closed output is reported, and no other file gets its descriptor`() throws {
        let end = try DaemonProcess(
            paths + ["--check-config"], launcher: ["/bin/sh", "-c", "exec \"$0\" \"$@\" >&-"], environment: environment
        ).end()
        #expect(end.status == 1)
        #expect(end.errors == "notifyd: can't write to standard output: it is closed\n")
    }

    @Test func `an invalid variable or file is refused with status 1`() throws {
        let variable = try daemon([], ["NOTIFYD_LIMITS_PAYLOAD_BYTES": "abc"]).end()
        #expect(variable.status == 1)
        #expect(variable.errors.contains("NOTIFYD_LIMITS_PAYLOAD_BYTES=abc: expected a size"))
        let file = try daemon(["--config", folder.write("log_level: 5", to: "n.yaml")]).end()
        #expect(file.status == 1)
        #expect(file.errors.contains("n.yaml:1: log_level: expected one of trace"))
        #expect(!exists(folder.file("n.sock")))
    }

    @Test func `--check-config and the start report a token that looks like a wildcard but is not`() throws {
        let file = try folder.write("policy:\n  - {deny: [subscribe], names: [hr*]}\n", to: "n.yaml")
        let check = try daemon(["--config", file, "--check-config"]).end()
        #expect(check.status == 0)
        let lines = check.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("the configuration is valid; ") == true)
        #expect(lines.last?.hasPrefix("warning: \(file):2: policy: 'hr*' in 'hr*' is no wildcard") == true)
        let daemon = try daemon(["--config", file])
        let log = daemon.waitForError("listening on")
        #expect(log.contains("\(file):2: policy: 'hr*' in 'hr*' is no wildcard"))
        daemon.signal(SIGTERM)
        #expect(daemon.end().status == 0)
    }

    @Test(arguments: [
        ["--verison"], ["--log-level", "loud"], ["--check", "--repair"], ["--socket=", "s", "--check-config"],
        ["--log-level=", "debug", "--check-config"],
    ])
    func `wrong usage is reported on one line`(arguments: [String]) throws {
        let end = try DaemonProcess(arguments, environment: environment).end()
        #expect(end.status == 64)
        #expect(end.errors.hasPrefix("notifyd: ") && end.errors.hasSuffix(" (see 'notifyd --help')\n"))
        #expect(end.errors.split(separator: "\n").count == 1)
    }

    @Test func `a file that is not a database is refused and not changed`() throws {
        let noise = String(repeating: "this is no database. ", count: 1000)
        _ = try folder.write(noise, to: "n.db")
        let end = try daemon().end()
        #expect(end.status == 1)
        #expect(end.errors.hasPrefix("notifyd: "))
        #expect(end.errors.contains(folder.file("n.db")))
        #expect(end.errors.split(separator: "\n").count == 1)
        #expect(try String(contentsOfFile: folder.file("n.db"), encoding: .utf8) == noise)
        #expect(!exists(folder.file("n.sock")))
    }

    @Test func `a database in use is refused`() throws {
        let first = try daemon()
        first.waitForError("listening on")
        let second = try DaemonProcess(
            ["--socket", folder.file("other.sock"), "--database", folder.file("n.db")], environment: environment
        ).end()
        #expect(second.status == 1)
        #expect(second.errors.contains("held by another notifyd"))
        #expect(second.errors.contains("\(first.processID)"))
        #expect(!exists(folder.file("other.sock")))
        first.signal(SIGTERM)
        #expect(first.end().status == 0)
    }

    @Test func `SIGHUP reloads the file`() throws {
        let file = try folder.write("log_level: info\n", to: "n.yaml")
        let daemon = try daemon(["--config", file])
        daemon.waitForError("listening on")
        _ = try folder.write("log_level: debug\n", to: "n.yaml")
        daemon.signal(SIGHUP)
        daemon.waitForError("configuration reloaded log_level=debug")
        _ = try folder.write("log_level: loud\n", to: "n.yaml")
        daemon.signal(SIGHUP)
        daemon.waitForError(
            "configuration not reloaded, the previous one remains in effect: \(file):1: log_level: expected one of trace"
        )
        daemon.signal(SIGTERM)
        #expect(daemon.end().status == 0)
    }

    @Test func `the service manager and its watchdog are notified`() throws {
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        // The socket holds at most ten unread messages. The interval is so long that only one of them is for the
        // watchdog.
        let daemon = try daemon([], ["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "600000000"])
        let early = Set((0..<3).compactMap { _ in receiver.next() })
        let ready = "READY=1\nSTATUS=listening on \(folder.file("n.sock"))"
        #expect(early == ["EXTEND_TIMEOUT_USEC=300000000", "WATCHDOG=1", ready])
        daemon.signal(SIGTERM)
        #expect(daemon.end().status == 0)
        #expect(receiver.next() == "STOPPING=1\nSTATUS=draining")
        #expect(receiver.next() == "EXTEND_TIMEOUT_USEC=20000000")
    }

    @Test(.enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0))
    func `a socket from systemd is served and not removed`() throws {
        let launcher = ["/usr/bin/systemd-socket-activate", "--listen=\(folder.file("passed.sock"))"]
        let daemon = try DaemonProcess(paths, launcher: launcher, environment: environment)
        daemon.waitForError("Listening on")
        #expect(try canConnect(to: folder.file("passed.sock")))
        daemon.waitForError("listening on \(folder.file("passed.sock"))")
        #expect(!exists(folder.file("n.sock")))
        daemon.signal(SIGTERM)
        #expect(daemon.end().status == 0)
        #expect(exists(folder.file("passed.sock")))
    }

    @Test func `the version and the help are printed`() throws {
        let version = try DaemonProcess(["--version"]).end()
        #expect(version.output == "\(notifydVersion)\n")
        #expect(version.status == 0)
        let help = try DaemonProcess(["--help"]).end()
        #expect(help.status == 0)
        for part in ["EXAMPLES", "--socket <path>", "--database <path>", "--config <file>", "--log-level <level>"] {
            #expect(help.output.contains(part))
        }
    }
}
