import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl doctor`, and `notifyd --check-start`, which it runs.
    @Suite struct NotifyctlDoctorTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        /// Runs doctor for a daemon that has its files in the folder.
        private func doctor(
            socket: String? = nil, launcher: [String] = [], environment: [String: String?] = [:]
        ) async throws -> Notifyctl.Result {
            let command = launcher + [Programs.notifyctl, "doctor"]
            let variables: [String: String?] = [
                "NOTIFYD_SOCKET": socket ?? folder.file("n.sock"), "NOTIFYD_DATABASE": folder.file("n.db"),
            ]
            let process = try ChildProcess(
                command[0], Array(command.dropFirst()),
                environment: Daemon.clean.merging(variables) { $1 }.merging(environment) { $1 })
            let status = try await process.waitForExit()
            let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            return .init(status: status, output: output.text, errors: errors.text)
        }

        private func expectProblem(
            _ result: Notifyctl.Result, _ parts: String..., sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(result.status == .status(1), sourceLocation: sourceLocation)
            #expect(result.errors == "", sourceLocation: sourceLocation)
            for part in parts { expectText(result.output, part, sourceLocation: sourceLocation) }
        }

        @Test func `a daemon that works has no problem`() async throws {
            let daemon = try await Daemon.start()
            let result = try await doctor(socket: daemon.socket, environment: ["NOTIFYD_DATABASE": daemon.database])
            #expect(result.status == .status(0))
            #expect(result.output == "no problem found: notifyd answers at \(daemon.socket)\n")
        }

        @Test(.enabled(if: Requirements.canMount))
        func `a missing daemon is found`() async throws {
            // Hides the daemon that this machine may run.
            let script = "mount -t tmpfs none /run && exec \"$@\""
            let result = try await doctor(
                launcher: ["unshare", "--mount", "sh", "-c", script, "sh"], environment: ["XDG_RUNTIME_DIR": nil])
            expectProblem(
                result, "problem: no daemon listens on \(folder.file("n.sock"))\n",
                "  repair: notifyd --socket \(folder.file("n.sock"))\n")
            #expect(result.lines.count == 2)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }

        @Test func `a daemon at another socket is found`() async throws {
            mkdir(folder.file("notifyd"), 0o700)
            let own = folder.file("notifyd/notifyd.sock")
            let run = try NotifydRun(
                ["--socket", own, "--database", folder.file("n.db")], managerPath: folder.file("manager"))
            try await run.ready()
            let result = try await doctor(environment: ["XDG_RUNTIME_DIR": folder.path])
            expectProblem(result, "but one answers at \(own)\n", "repair: use --socket \(own), or unset NOTIFYD_SOCKET")
            #expect(result.lines.count == 2)
            try await run.stop()
        }

        @Test func `a socket that is another file is found`() async throws {
            let path = try folder.write("letter", to: "n.sock")
            expectProblem(try await doctor(), "problem: \(path) is not a socket\n")
        }

        @Test func `a process that does not answer is found`() async throws {
            let listener = try Listener(path: folder.file("n.sock"))
            defer { withExtendedLifetime(listener) {} }
            expectProblem(try await doctor(), "listens on \(folder.file("n.sock")) but does not answer as notifyd")
        }

        @Test func `an older daemon is found`() async throws {
            let listener = try Listener(path: folder.file("n.sock"))
            let welcome = Welcome(
                version: Hello.currentVersion, uid: geteuid(), gid: getegid(), pid: 1, maximumPayloadBytes: 1 << 20,
                postWindow: 1, maximumWindow: 1, maximumSubscriptions: 1, daemonInstance: .random(),
                clientInstance: .random(), daemonVersion: "0.0.9")
            // Answers a hello and the first request.
            let answers = [welcome.encoded, StatisticsReport(request: 1, counters: []).encoded]
            let descriptor = listener.descriptor
            Thread.detachNewThread {
                let connection = accept(descriptor, nil, nil)
                var buffer = [UInt8](repeating: 0, count: 4096)
                for answer in answers where read(connection, &buffer, buffer.count) > 0 {
                    _ = write(connection, answer, answer.count)
                }
                while read(connection, &buffer, buffer.count) > 0 {}
                close(connection)
            }
            let result = try await doctor()
            withExtendedLifetime(listener) {}
            expectProblem(result, "the daemon has version 0.0.9, older than notifyctl's \(notifydVersion)\n", "restart")
            #expect(result.lines.count == 2)
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `a socket without the right to connect is found`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0600"])
            chmod(daemon.folder.path, 0o755)
            chmod(folder.path, 0o1777)
            expectProblem(
                try await doctor(socket: daemon.socket, launcher: Requirements.asUser(54_321)),
                "the socket \(daemon.socket) belongs to uid 0 and has the mode 0600: uid 54321 may not connect",
                "set socket_mode:")
        }

        // MARK: Starts that would fail

        /// Expects that doctor and a start of the daemon give the same advice.
        private func expectAdviceOfStart(
            _ advice: String, launcher: [String] = [], environment: [String: String?] = [:],
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let result = try await doctor(launcher: launcher, environment: environment)
            expectProblem(result, advice, sourceLocation: sourceLocation)
            let start = try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")], environment: environment,
                launcher: launcher, managerPath: folder.file("manager"))
            let message = try await start.refusal(sourceLocation: sourceLocation)
            expectText(result.output, "problem: \(message)", sourceLocation: sourceLocation)
        }

        @Test(.enabled(if: Requirements.isRoot), arguments: ["n.db", "n.db.lock"])
        func `a database of another owner is found`(name: String) async throws {
            let file = try folder.write("", to: name)
            chmod(file, 0o600)
            chown(file, 54_321, 54_321)
            try await expectAdviceOfStart("'\(file)' belongs to uid 54321, and notifyd runs as root")
            #expect(FileAttributes(file)?.owner == 54_321)
        }

        @Test func `a file that is not a database is found`() async throws {
            let file = try folder.write(String(repeating: "noise ", count: 100), to: "n.db")
            try await expectAdviceOfStart("the file '\(file)' is not a database")
        }

        @Test func `an error in the configuration is found`() async throws {
            let file = try folder.write("log_level: loud\n", to: "notifyd.yaml")
            try await expectAdviceOfStart(file, environment: ["NOTIFYD_CONFIG": file])
        }

        @Test(.enabled(if: Requirements.canMount))
        func `a disk that is nearly full is found`() async throws {
            let disk = folder.file("disk")
            mkdir(disk, 0o700)
            let script =
                "mount -t tmpfs -o size=1m none \(disk) && head -c 1000k /dev/zero > \(disk)/filler; exec \"$@\""
            let result = try await doctor(
                launcher: ["unshare", "--mount", "sh", "-c", script, "sh"],
                environment: ["NOTIFYD_DATABASE": disk + "/n.db"])
            expectProblem(result, "the file system of '\(disk)' is nearly full (0 MiB free): make room on it")
        }

        @Test(.enabled(if: Requirements.canMount))
        func `a unit that is not enabled is found`() async throws {
            let script = """
                mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd && mkdir -p /etc/systemd/system/sockets.target.wants
                touch /etc/systemd/system/notifyd.socket; [ "$1" = no ] || ln -s x /etc/systemd/system/sockets.target.wants/notifyd.socket
                shift; exec "$@"
                """
            for enabled in ["no", "yes"] {
                let result = try await doctor(
                    socket: "/run/notifyd/notifyd.sock",
                    launcher: ["unshare", "--mount", "sh", "-c", script, "sh", enabled])
                expectProblem(
                    result, "no daemon listens on /run/notifyd/notifyd.sock", "sudo systemctl start notifyd.socket")
                #expect(result.output.contains("systemctl enable --now notifyd.socket") == (enabled == "no"))
            }
        }
    }
}
