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

        @Test func `a check of the start fails where stored posts would be refused for lack of disk space`()
            async throws
        {
            let process = try ChildProcess(
                Programs.notifyd,
                ["--check-start", "--socket", folder.file("n.sock"), "--database", folder.file("n.db")],
                environment: Daemon.clean.merging(["NOTIFYD_LOG_MIN_FREE_BYTES": "16TiB"]) { $1 })
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0.text : nil }
            #expect(
                errors.replacing(/has \S+ free/, with: "has SIZE free") == """
                    notifyd: the file system of '\(folder.path)' has SIZE free, less than the 16TiB of log.min_free_bytes: \
                    make room on it, or stored posts are refused

                    """)
        }

        @Test func `a regular file in place of the daemon's socket is found`() async throws {
            let path = try folder.write("letter", to: "n.sock")
            expectProblem(try await doctor(), "problem: \(path) is not a socket\n")
        }

        @Test func `the reason why a path leads to no socket is found`() async throws {
            symlink("loop", folder.file("loop"))
            _ = try folder.write("letter", to: "plain")
            let datagrams = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            defer { close(datagrams) }
            try #require(RawSocket.withAddress(folder.file("datagrams")) { bind(datagrams, $0, $1) } == 0)
            for (name, reason) in [
                ("loop", "Too many levels of symbolic links"), ("plain/n.sock", "Not a directory"),
                ("datagrams", "Protocol wrong type for socket"),
            ] {
                expectProblem(
                    try await doctor(socket: folder.file(name)),
                    "problem: can't connect to \(folder.file(name)): \(reason)\n"
                        + "  repair: give the daemon's socket with --socket\n")
            }
        }

        @Test func `a process that does not answer is found`() async throws {
            let listener = try Listener(path: folder.file("n.sock"))
            defer { withExtendedLifetime(listener) {} }
            let path = folder.file("n.sock")
            expectProblem(
                try await doctor(), "listens on \(path) but does not answer as notifyd", "ss -xlp src \(path)'",
                "lsof \(path)'", "restart it if it is notifyd, and end it if it is not\n")
        }

        @Test func `an older daemon is found`() async throws {
            let listener = try Listener(path: folder.file("n.sock"))
            let welcome = Welcome(
                version: Hello.currentVersion, uid: geteuid(), gid: getegid(), pid: 1, maximumPayloadBytes: 1 << 20,
                postWindow: 1, maximumWindow: 1, maximumSubscriptions: 1, daemonInstance: .random(),
                clientInstance: .random(), daemonVersion: "0.0.9")
            // Answers a hello and two requests.
            let answers = [
                welcome.encoded, StatisticsReport(request: 1, counters: []).encoded, ListEnd(request: 2).encoded,
            ]
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
            let result = try await doctor(environment: ["NOTIFYCTL_ANSWER_TIMEOUT": nil])
            withExtendedLifetime(listener) {}
            expectProblem(result, "the daemon has version 0.0.9, older than notifyctl's \(notifydVersion)\n", "restart")
            #expect(result.lines.count == 2)
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `a socket that the user may not connect to is found`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0600"])
            chmod(daemon.folder.path, 0o755)
            chmod(folder.path, 0o1777)
            expectProblem(
                try await doctor(socket: daemon.socket, launcher: Requirements.asUser(54_321)),
                "the socket \(daemon.socket) belongs to uid 0 and has the mode 0600: uid 54321 may not connect",
                "set socket_mode:")
        }

        @Test func `a durable subscription that is far behind is found`() async throws {
            let daemon = try await Daemon.start()
            let posted = try await Notifyctl(daemon).shell(
                """
                notifyctl durable create inbox 'news.>' && notifyctl durable create short 'few' &&
                    yes | head -n 100000 | notifyctl post news.a --lines --quiet &&
                    yes | head -n 99999 | notifyctl post few --lines --quiet &&
                    yes | head -n 100001 | notifyctl post other --lines --quiet --durability stored
                """)
            #expect(posted.status == .status(0), "\(posted.errors)")
            let user = String(cString: try #require(getpwuid(geteuid())?.pointee.pw_name))
            let result = try await doctor(
                socket: daemon.socket, environment: ["NOTIFYD_DATABASE": daemon.database])
            #expect(result.status == .status(1))
            #expect(
                result.output == """
                    problem: durable subscriptions have not acknowledged 100000 or more messages: inbox of user \(user) \
                    (100000)
                      repair: start their consumers, or remove those that are not needed: notifyctl durable remove NAME

                    """)
        }

        @Test func `a deleted database is found before anything is posted`() async throws {
            let daemon = try await Daemon.start()
            for file in ["", "-wal"] { unlink(daemon.database + file) }
            let result = try await doctor(socket: daemon.socket)
            #expect(result.status == .status(1))
            #expect(
                result.output == """
                    problem: posts to be stored are refused: the database '\(daemon.database)' was deleted or moved away: \
                    move it back, or reload notifyd (SIGHUP) for a new log with the newest messages, which are in memory

                    """)
            expectText(
                try await Notifyctl(daemon).run("check").output, "posts to be stored are refused: the database '")
            #expect(try await Notifyctl(daemon).run("reload").status == .status(0))
            #expect(try await doctor(socket: daemon.socket).status == .status(0))
        }

        @Test func `a failed reload is found, whichever file the daemon reads`() async throws {
            let file = try folder.write("log_level: info\n", to: "other.yaml")
            let daemon = try await Daemon.start(["--config", file])
            #expect(try await doctor(socket: daemon.socket).status == .status(0))
            _ = try folder.write("log_level: loud\n", to: "other.yaml")
            let reload = try await Notifyctl(daemon).run("reload")
            #expect(reload.status != .status(0))
            // A start would fail for the same reason, which is reported once.
            let result = try await doctor(socket: daemon.socket, environment: ["NOTIFYD_CONFIG": file])
            #expect(result.status == .status(1))
            #expect(
                result.output == """
                    problem: the last reload has failed, and the previous configuration is in effect: \(file):1: \
                    log_level: expected one of trace, debug, info, notice, warning, error, critical, not loud
                      repair: correct it, then run notifyctl reload

                    """)
            _ = try folder.write("log_level: info\n", to: "other.yaml")
            #expect(try await Notifyctl(daemon).run("reload").status == .status(0))
            #expect(try await doctor(socket: daemon.socket).status == .status(0))
        }

        @Test func `a daemon that a signal has stopped is found`() async throws {
            let daemon = try await Daemon.start()
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            let pid = daemon.process.pid
            let result = try await doctor(socket: daemon.socket)
            daemon.process.send(SIGCONT)
            #expect(
                result.output == """
                    problem: notifyd at \(daemon.socket), process \(pid), is stopped by a signal
                      repair: kill -CONT \(pid)

                    """)
        }

        @Test func `a running daemon whose socket file was deleted is found`() async throws {
            let daemon = try await Daemon.start()
            let pid = daemon.process.pid
            unlink(daemon.socket)
            let result = try await doctor(socket: daemon.socket)
            #expect(result.status == .status(1))
            #expect(
                result.output == """
                    problem: notifyd runs as process \(pid), but the file of its socket, \(daemon.socket), was deleted
                      repair: restart notifyd: end the process with 'kill \(pid)', then start it as before

                    """)
        }

        // The machine may run a system's daemon; the test does not depend on it.
        @Test func `a user's daemon with a deleted socket is found even if the system's daemon answers`() async throws {
            mkdir(folder.file("notifyd"), 0o700)
            let own = folder.file("notifyd/notifyd.sock")
            let run = try NotifydRun(
                ["--socket", own, "--database", folder.file("n.db")], managerPath: folder.file("manager"))
            try await run.ready()
            unlink(own)
            let command = [Programs.notifyctl, "doctor"]
            let process = try ChildProcess(
                command[0], [command[1]],
                environment: Daemon.clean.merging(["XDG_RUNTIME_DIR": folder.path]) { $1 })
            #expect(try await process.waitForExit() == .status(1))
            let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
            expectText(
                output.text,
                "notifyd runs as process \(run.process.pid), but the file of its socket, \(own), was deleted\n")
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
            // A start, which would fail, is not proposed.
            #expect(!result.output.contains("repair: notifyd"), sourceLocation: sourceLocation)
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

        @Test func `a database of a newer schema is found`() async throws {
            let run = try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")],
                managerPath: folder.file("manager"))
            try await run.ready()
            try await run.stop()
            let database = try FileHandle(forUpdating: URL(filePath: folder.file("n.db")))
            // SQLite's user_version.
            try database.seek(toOffset: 60)
            try database.write(contentsOf: [0, 0, 0, 99])
            try database.close()
            let before = try Data(contentsOf: URL(filePath: folder.file("n.db")))
            try await expectAdviceOfStart("was written by a newer notifyd (schema 99, this one supports")
            #expect(try Data(contentsOf: URL(filePath: folder.file("n.db"))) == before)
        }

        @Test func `a file that would keep a start from opening the socket is found`() async throws {
            let file = try folder.write("letter", to: "n.sock")
            try await expectAdviceOfStart("\(file) exists and is not a socket: move it away")
        }

        @Test func `a missing directory of the socket is found`() async throws {
            let result = try await doctor(socket: folder.file("absent/n.sock"))
            expectProblem(result, "problem: the directory \(folder.file("absent")) of the socket does not exist")
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `a socket directory that the user may not write to is found`() async throws {
            mkdir(folder.file("own"), 0o700)
            chown(folder.file("own"), 54_321, 54_321)
            chmod(folder.path, 0o755)
            let result = try await doctor(
                launcher: Requirements.asUser(54_321),
                environment: ["NOTIFYD_DATABASE": folder.file("own/n.db"), "HOME": folder.path])
            expectProblem(result, "n.sock.lock of the socket cannot be opened")
            #expect(!FileAttributes.exists(folder.file("n.sock.lock")))
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
            expectProblem(result, "the file system of '\(disk)' has 24KiB free, less than the 256MiB of")
        }

        @Test(.enabled(if: Requirements.canMount))
        func `a unit that is not enabled is found`() async throws {
            let script = """
                mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd && mkdir -p /etc/systemd/system/sockets.target.wants
                mkdir -p /run/systemd/system; touch /etc/systemd/system/notifyd.socket; [ "$1" = no ] || ln -s x /etc/systemd/system/sockets.target.wants/notifyd.socket
                shift; exec "$@"
                """
            for enabled in ["no", "yes"] {
                let result = try await doctor(
                    socket: "/run/notifyd/notifyd.sock",
                    launcher: ["unshare", "--mount", "sh", "-c", script, "sh", enabled])
                expectProblem(
                    result, "no daemon listens on /run/notifyd/notifyd.sock", "  repair: systemctl start notifyd.socket"
                )
                #expect(result.output.contains("systemctl enable --now notifyd.socket") == (enabled == "no"))
            }
        }

        @Test(.enabled(if: Requirements.canMount))
        func `units are not proposed where systemd does not run`() async throws {
            let script = """
                mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd && mkdir -p /etc/systemd/system
                touch /etc/systemd/system/notifyd.socket; exec "$@"
                """
            let result = try await doctor(
                socket: "/run/notifyd/notifyd.sock", launcher: ["unshare", "--mount", "sh", "-c", script, "sh"])
            expectProblem(result, "no daemon listens on /run/notifyd/notifyd.sock", "  repair: notifyd\n")
            #expect(!result.output.contains("systemctl"))
        }

        /// A script in place of systemctl reports a failed unit, because the tests have no service manager.
        @Test(.enabled(if: Requirements.canSwitchUser && Requirements.canMount))
        func `the units of a user are checked`() async throws {
            chmod(folder.path, 0o755)
            let folders = ["run", "run/systemd", "run/systemd/private", "config", "config/systemd", "bin"]
            for name in folders + ["config/systemd/user"] { mkdir(folder.file(name), 0o755) }
            chown(folder.file("run"), 54_321, 54_321)
            let systemctl = try folder.write(
                "#!/bin/sh\n[ \"$*\" = '--user is-failed --quiet notifyd.service' ]\n", to: "bin/systemctl")
            chmod(systemctl, 0o755)
            let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
            // Hides a daemon of the machine.
            let isolated = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run && exec \"$@\"", "sh"]
            func doctor() async throws -> Notifyctl.Result {
                try await self.doctor(
                    socket: folder.file("run/notifyd/notifyd.sock"), launcher: isolated + Requirements.asUser(54_321),
                    environment: [
                        "HOME": folder.path, "XDG_RUNTIME_DIR": folder.file("run"),
                        "XDG_CONFIG_HOME": folder.file("config"), "PATH": folder.file("bin") + ":" + path,
                        "NOTIFYD_DATABASE": folder.file("run/n.db"),
                    ])
            }
            #expect(try await !doctor().output.contains("notifyd.service"), "the units are not installed")
            _ = try folder.write("", to: "config/systemd/user/notifyd.socket")
            expectProblem(
                try await doctor(), "repair: systemctl --user start notifyd.socket\n",
                "so notifyd does not start at login\n  repair: systemctl --user enable --now notifyd.socket\n",
                "problem: notifyd.service has failed: systemctl --user status notifyd.service shows why\n",
                "systemctl --user restart notifyd.socket\n")
            mkdir(folder.file("config/systemd/user/sockets.target.wants"), 0o755)
            _ = try folder.write("", to: "config/systemd/user/sockets.target.wants/notifyd.socket")
            #expect(try await !doctor().output.contains("not enabled"))
        }
    }
}
