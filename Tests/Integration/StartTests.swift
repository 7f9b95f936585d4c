import WireTestSupport
import Foundation
import NotifyWire
import Testing
import TestSupport

extension IntegrationTests {
    /// The files that notifyd uses and creates when it starts.
    @Suite struct StartTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        @Test func `the socket of a killed daemon is replaced`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("kept", durability: .stored)
            try await daemon.kill()
            #expect(FileAttributes.exists(daemon.socket))
            try await daemon.start()
            #expect(try RawClient(daemon).statistics()["log_messages"] == 1)
        }

        @Test func `a stale socket without a lock is replaced`() async throws {
            let gone = try Listener(path: folder.file("socket"))
            // Closing the socket does not suffice if a program started by another test has a copy of the descriptor.
            shutdown(gone.descriptor, Int32(SHUT_RDWR))
            #expect(FileAttributes(folder.file("socket"))?.kind == S_IFSOCK)
            let daemon = try await Daemon.start(folder: folder)
            try RawClient(daemon).ping()
        }

        @Test(arguments: 1...5)
        func `exactly one of several simultaneous starts succeeds`(round: Int) async throws {
            let runs = try (0..<4).map { number in
                try NotifydRun(
                    ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")],
                    managerPath: folder.file("manager\(number)"))
            }
            var winners: [NotifydRun] = []
            for run in runs {
                // Refused daemons exit. The daemon that wins keeps running.
                if (try? await run.ready()) != nil { winners.append(run) }
            }
            #expect(winners.count == 1)
            for run in runs where run.process.pid != winners.first?.process.pid {
                expectText(try await run.refusal(), "another notifyd")
            }
            try RawClient(path: folder.file("n.sock")).ping()
            for run in winners {
                #expect(try await run.stop() == .status(0))
            }
            #expect(!FileAttributes.exists(folder.file("n.sock")))
        }

        @Test func `options override the environment, which overrides the file`() async throws {
            let file = folder.file("n.yaml")
            try """
            socket: \(folder.file("by-file.sock"))
            database: \(folder.file("by-file.db"))
            limits:
              payload_bytes: 111
              per_connection:
                post_window: 22
            """.write(toFile: file, atomically: false, encoding: .utf8)
            let environment: [String: String?] = [
                "NOTIFYD_SOCKET": folder.file("by-environment.sock"), "NOTIFYD_LIMITS_PAYLOAD_BYTES": "333",
            ]
            let cases: [(arguments: [String], environment: [String: String?], socket: String, payload: UInt32)] = [
                (["--config", file], [:], "by-file.sock", 111),
                (["--config", file], environment, "by-environment.sock", 333),
                (["--config", file, "--socket", folder.file("by-option.sock")], environment, "by-option.sock", 333),
                ([], environment.merging(["NOTIFYD_CONFIG": file]) { $1 }, "by-environment.sock", 333),
            ]
            for (arguments, environment, socket, payload) in cases {
                let run = try NotifydRun(arguments, environment: environment, managerPath: folder.file("manager"))
                #expect(try await run.ready() == folder.file(socket))
                let welcome = try RawClient(RawSocket(path: folder.file(socket))).greet()
                #expect(welcome.maximumPayloadBytes == payload)
                #expect(welcome.postWindow == 22)
                #expect(FileAttributes.exists(folder.file("by-file.db")))
                #expect(try await run.stop() == .status(0))
            }
        }

        @Test func `only the owner may read the database`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("kept", durability: .stored)
            for name in [daemon.database, daemon.database + "-wal", daemon.database + ".lock"] {
                #expect(FileAttributes(name)?.permissions == 0o600, "\(name)")
            }
            try await daemon.stop()
            chmod(daemon.database, 0o644)
            try await daemon.start()
            #expect(FileAttributes(daemon.database)?.permissions == 0o600)
        }

        // MARK: The defaults

        @Test(.enabled(if: Requirements.canMount))
        func `a daemon of root serves all users from the system folders`() async throws {
            let mount = "mount -t tmpfs none /run && mount -t tmpfs none /var/lib && umask 077 && exec \"$@\""
            let run = try NotifydRun(
                [], environment: ["HOME": folder.path], launcher: ["unshare", "--mount", "sh", "-c", mount, "sh"],
                managerPath: folder.file("manager"))
            #expect(try await run.ready() == "/run/notifyd/notifyd.sock")
            // The files in the daemon's mount namespace are accessible through `/proc`.
            let root = "/proc/\(run.process.pid)/root"
            #expect(FileAttributes(root + "/run/notifyd")?.permissions == 0o755)
            #expect(FileAttributes(root + "/run/notifyd/notifyd.sock")?.permissions == 0o666)
            #expect(FileAttributes(root + "/var/lib/notifyd")?.permissions == 0o700)
            #expect(FileAttributes(root + "/var/lib/notifyd/notifyd.db")?.permissions == 0o600)
            try RawClient(path: root + "/run/notifyd/notifyd.sock").ping()
            #expect(try await run.stop() == .status(0))
        }

        private static let userPlaces: [(variables: [String: String?], runtime: String?, state: String)] = [
            (["XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state"], "run/notifyd", "state/notifyd"),
            (["XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": nil], "run/notifyd", ".local/state/notifyd"),
            (["XDG_RUNTIME_DIR": nil, "XDG_STATE_HOME": nil], nil, ".local/state/notifyd"),
        ]

        @Test(.enabled(if: Requirements.canSwitchUser), arguments: userPlaces)
        func `a daemon of a user serves that user from the user's folders`(
            variables: [String: String?], runtime: String?, state: String
        ) async throws {
            let uid: UInt32 = 54_321
            for path in [folder.path, folder.file("run")] {
                mkdir(path, 0o755)
                chown(path, uid, uid)
            }
            var environment = variables.mapValues { $0.map(folder.file) }
            environment["HOME"] = folder.path
            let manager = try TemporaryFolder()
            chmod(manager.path, 0o755)
            let run = try NotifydRun(
                [], environment: environment, launcher: Requirements.asUser(uid), managerPath: manager.file("m"))
            // Without a runtime folder of the user, the daemon creates its own folder.
            let socketDirectory = runtime.map(folder.file) ?? "/tmp/notifyd-\(uid)"
            let socket = try await run.ready()
            #expect(socket == socketDirectory + "/notifyd.sock")
            let facts = try #require(FileAttributes(socketDirectory))
            #expect(facts.permissions == 0o700 && facts.owner == uid)
            #expect(FileAttributes(socket)?.permissions == 0o600)
            #expect(FileAttributes(folder.file(state))?.permissions == 0o700)
            #expect(FileAttributes(folder.file(state + "/notifyd.db"))?.permissions == 0o600)
            try RawClient(path: socket).ping()
            #expect(try await run.stop() == .status(0))
            if runtime == nil { try FileManager.default.removeItem(atPath: socketDirectory) }
        }
    }
}
