import Foundation
import NotifySystem
import NotifyWire
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Tests that a failed start prints one line with the problem and its solution, exits with status 1, and changes no
    /// files.
    @Suite struct StartRefusalTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        private func refusal(
            socket: String? = nil, database: String? = nil, _ more: [String] = [], launcher: [String] = [],
            environment: [String: String?] = [:], sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> String {
            let run = try NotifydRun(
                ["--socket", socket ?? folder.file("n.sock"), "--database", database ?? folder.file("n.db")] + more,
                environment: environment, launcher: launcher, managerPath: folder.file("refused"))
            return try await run.refusal(sourceLocation: sourceLocation)
        }

        @Test func `an unexpected argument is named`() async throws {
            let process = try ChildProcess(Programs.notifyd, ["start"], environment: Daemon.clean)
            #expect(try await process.waitForExit() == .status(64))
            let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
            #expect(errors.hasPrefix("notifyd: unexpected argument 'start': only --check and --repair take a file"))
        }

        // MARK: The socket

        @Test func `a socket served by another notifyd is refused`() async throws {
            let daemon = try await Daemon.start()
            let message = try await refusal(socket: daemon.socket)
            #expect(message.contains("another notifyd (pid \(daemon.process.pid)) holds the socket \(daemon.socket)"))
            #expect(message.contains("--socket"))
            try RawClient(daemon).ping()
        }

        @Test func `a socket served by another program is refused`() async throws {
            let path = folder.file("theirs.sock")
            let listener = try Listener(path: path)
            let message = try await refusal(socket: path)
            #expect(message.contains("another process serves the socket \(path)"))
            #expect(try RawSocket.connect(listener.probe(), to: path) == 0)
        }

        @Test func `a path that is not a socket is refused`() async throws {
            let file = folder.file("letter")
            try "dear reader".write(toFile: file, atomically: false, encoding: .utf8)
            expectText(try await refusal(socket: file), "\(file) exists and is not a socket")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "dear reader")

            let inner = folder.file("folder")
            try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
            expectText(try await refusal(socket: inner), "\(inner) exists and is not a socket")
            #expect(FileAttributes(inner)?.kind == S_IFDIR)
        }

        @Test func `a socket path over 107 bytes is refused`() async throws {
            let longest = folder.file(String(repeating: "x", count: 107 - folder.path.utf8.count - 1))
            #expect(longest.utf8.count == 107)
            expectText(try await refusal(socket: longest + "x"), "expected a path of at most 107 bytes")
            let run = try NotifydRun(
                ["--socket", longest, "--database", folder.file("n.db")], managerPath: folder.file("manager"))
            #expect(try await run.ready() == longest)
            try RawClient(path: longest).ping()
            #expect(try await run.stop() == .status(0))
        }

        // MARK: The database

        @Test func `a database in use by another notifyd is refused`() async throws {
            let daemon = try await Daemon.start()
            let message = try await refusal(database: daemon.database)
            #expect(message.contains("the database '\(daemon.database)' is held by another notifyd"))
            #expect(message.contains("\(daemon.process.pid)"))
            #expect(!FileAttributes.exists(folder.file("n.sock")))
            try RawClient(daemon).post("still.there", durability: .stored)
        }

        @Test func `a database of a newer schema is refused`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("kept", durability: .stored)
            #expect(try await daemon.stop() == .status(0))
            // The schema version is a big-endian integer at offset 60 of a SQLite file.
            let before = try patch(daemon.database, offset: 60, with: [0, 0, 0, 99])
            let message = try await refusal(database: daemon.database)
            #expect(message.contains("'\(daemon.database)' was written by a newer notifyd (schema 99"))
            #expect(try Data(contentsOf: URL(filePath: daemon.database)) == before)
        }

        @Test func `a database of another application is refused`() async throws {
            let daemon = try await Daemon.start()
            #expect(try await daemon.stop() == .status(0))
            // The application id is at offset 68.
            let before = try patch(daemon.database, offset: 68, with: [1, 2, 3, 4])
            let message = try await refusal(database: daemon.database)
            #expect(message.contains("is another program's database"))
            #expect(try Data(contentsOf: URL(filePath: daemon.database)) == before)
        }

        @Test(arguments: [1, 15, 100, 4096, 100_000])
        func `a file that is not a database is refused`(size: Int) async throws {
            let noise = Data((0..<size).map { _ in UInt8.random(in: 0...255) })
            let path = folder.file("noise")
            try noise.write(to: URL(filePath: path))
            let message = try await refusal(database: path)
            #expect(message.contains("the file '\(path)' is not a database"))
            #expect(try Data(contentsOf: URL(filePath: path)) == noise)
            #expect(!FileAttributes.exists(path + "-wal"))
            #expect(!FileAttributes.exists(folder.file("n.sock")))
        }

        @Test func `a database path that is a folder is refused`() async throws {
            let inner = folder.file("folder")
            try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
            let message = try await refusal(database: inner)
            #expect(message.contains(inner))
            #expect(message.contains("regular file"))
        }

        // MARK: Folders

        @Test func `missing folders are refused`() async throws {
            let message = try await refusal(socket: folder.file("none/n.sock"))
            #expect(message.contains("the directory \(folder.file("none")) of the socket does not exist"))
            expectText(try await refusal(database: folder.file("none/n.db")), folder.file("none/n.db"))
            #expect(!FileAttributes.exists(folder.file("none")))
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `folders without write permission are refused`() async throws {
            // The folder also contains the service manager's socket, so other users must be able to search it, but not
            // to write to it.
            chmod(folder.path, 0o755)
            let other = try TemporaryFolder()
            chmod(other.path, 0o1777)
            let user = Requirements.asUser(54_321)
            let forSocket = try await refusal(database: other.file("n.db"), launcher: user)
            let reason =
                "the directory '\(folder.path)' belongs to uid 0 and has the mode 0755, and notifyd runs as uid 54321"
            #expect(forSocket.contains(reason))
            #expect(forSocket.contains("--socket"))
            let forDatabase = try await refusal(socket: other.file("n.sock"), launcher: user)
            #expect(forDatabase.contains("'\(folder.file("n.db"))"))
            #expect(forDatabase.contains(reason))
            #expect(!FileAttributes.exists(other.file("n.sock")))
        }

        @Test(.enabled(if: Requirements.canSwitchUser), arguments: ["n.sock.lock", "n.db.lock", "n.db"])
        func `files of another user are refused`(name: String) async throws {
            chmod(folder.path, 0o1777)
            let file = folder.file(name)
            #expect(FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]))
            let message = try await refusal(launcher: Requirements.asUser(54_321))
            #expect(message.contains(file))
            #expect(
                message.contains("the file belongs to uid 0 and has the mode 0600, and notifyd runs as uid 54321"))
            let first = folder.file(name.hasPrefix("n.sock") ? "n.sock" : "n.db")
            expectText(message, "run \"sudo chown 54321 '\(first)'*\"")
            #expect(!message.contains("directory"))
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `a write-ahead log of another user is refused`() async throws {
            chmod(folder.path, 0o1777)
            let user = Requirements.asUser(54_321)
            let run = try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")], launcher: user,
                managerPath: folder.file("manager"))
            _ = try await run.ready()
            #expect(try await run.stop() == .status(0))
            let log = folder.file("n.db-wal")
            #expect(FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600]))
            let message = try await refusal(launcher: user)
            #expect(message.contains("'\(log)'"))
            #expect(
                message.contains("the file belongs to uid 0 and has the mode 0600, and notifyd runs as uid 54321"))
            #expect(!message.contains("directory"))
        }

        // MARK: Files writable by other users

        @Test(.enabled(if: Requirements.isRoot), arguments: ["n.sock.lock", "n.db.lock", "n.db", "n.db-wal"])
        func `root refuses a file of another user`(name: String) async throws {
            let run = try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", folder.file("n.db")],
                managerPath: folder.file("manager"))
            try await run.ready()
            #expect(try await run.stop() == .status(0))
            let file = folder.file(name)
            #expect(FileAttributes.exists(file) || FileManager.default.createFile(atPath: file, contents: nil))
            #expect(chown(file, 54_321, 54_321) == 0)
            let message = try await refusal()
            #expect(
                message.contains(
                    "'\(file)' belongs to uid 54321, and notifyd runs as root: run \"chown root '\(file)'\", "
                        + "or start notifyd with \"sudo -u '#54321'\""))
            #expect(FileAttributes(file)?.owner == 54_321)
        }

        @Test(.enabled(if: Requirements.isRoot))
        func `root refuses a folder of another user`() async throws {
            let other = try TemporaryFolder()
            #expect(chown(other.path, 54_321, 54_321) == 0)
            for message in [
                try await refusal(database: other.file("n.db")), try await refusal(socket: other.file("n.sock")),
            ] {
                expectText(message, "'\(other.path)' belongs to uid 54321")
                expectText(message, "chown root '\(other.path)'")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == [])
        }

        @Test func `folders that other users may write to are refused`() async throws {
            let shared = try TemporaryFolder()
            #expect(chmod(shared.path, 0o770) == 0)
            for message in [
                try await refusal(database: shared.file("n.db")), try await refusal(socket: shared.file("n.sock")),
            ] {
                expectText(message, "other users may write to the directory '\(shared.path)' (mode 0770)")
                expectText(message, "chmod go-w '\(shared.path)'")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: shared.path) == [])
        }

        // MARK: The configuration file

        private static let wrongFiles: [(text: String, line: Int, parts: [String])] = [
            ("log_level: info\nport: 80\n", 2, ["unknown key \"port\"", "expected one of socket"]),
            ("limits:\n  per_user:\n    conections: 5\n", 3, ["unknown key \"limits.per_user.conections\""]),
            ("limits:\n  connections: \"5\"\n", 2, ["limits.connections", "expected an integer", "\"5\""]),
            ("timeouts:\n  drain_seconds: soon\n", 2, ["timeouts.drain_seconds", "expected a duration"]),
            ("log_level: [info]\n", 1, ["log_level", "not a list or mapping"]),
            ("limits:\n  connections: 0\n", 2, ["limits.connections", "expected an integer from 1"]),
            ("socket: relative.sock\n", 1, ["socket", "expected a path of at most 107 bytes, absolute"]),
            ("limits: [\n", 2, ["not YAML"]),
        ]

        @Test(arguments: wrongFiles)
        func `an invalid configuration file is refused`(text: String, line: Int, parts: [String]) async throws {
            let path = folder.file("n.yaml")
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            // The file is refused even if options override its invalid values.
            let message = try await refusal(["--config", path])
            #expect(message.hasPrefix("\(path):\(line): "))
            for part in parts { #expect(message.contains(part)) }
            #expect(!FileAttributes.exists(folder.file("n.db")))
        }

        @Test func `a missing configuration file is refused`() async throws {
            let message = try await refusal(["--config", folder.file("none.yaml")])
            #expect(message.contains("the configuration file \(folder.file("none.yaml")) cannot be read"))
        }

        // MARK: Helpers

        private func patch(_ path: String, offset: Int, with bytes: [UInt8]) throws -> Data {
            var data = try Data(contentsOf: URL(filePath: path))
            data.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            try data.write(to: URL(filePath: path))
            return data
        }
    }
}

/// A listening socket of another program.
final class Listener {
    let descriptor: Int32

    init(path: String, backlog: Int32 = 8) throws {
        descriptor = try RawSocket.unconnected()
        let bound = RawSocket.withAddress(path) { bind(descriptor, $0, $1) }
        guard bound == 0, listen(descriptor, backlog) == 0 else { throw Errno.last }
    }

    deinit {
        close(descriptor)
    }

    /// Returns a socket for trying a connection. The socket stays open until the test process ends.
    func probe() throws -> Int32 { try RawSocket.unconnected() }
}
