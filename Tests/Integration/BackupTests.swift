import Foundation
import NotifyClient
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl backup` and `notifyd --restore`.
    @Suite struct BackupTests {
        private func restore(_ file: String, _ daemon: Daemon) throws -> NotifydRun {
            try NotifydRun(
                ["--database", daemon.database, "--restore", file], managerPath: daemon.folder.file("restore"))
        }

        private func epoch(of daemon: Daemon) throws -> UInt64 {
            try RawClient(RawSocket(path: daemon.socket)).greet().epoch
        }

        /// The stored messages, by sequence.
        private func log(of daemon: Daemon) async throws -> [UInt64: String] {
            let result = try await Notifyctl(daemon).run("log", "--format", "{sequence} {payload}")
            #expect(result.status == .status(0), "\(result.errors)")
            return Dictionary(
                uniqueKeysWithValues: result.lines.map { line in
                    let parts = line.split(separator: " ")
                    return (UInt64(parts[0]) ?? 0, String(parts[1]))
                })
        }

        @Test func `a signal ends a backup whose reader has stalled, even with one processor`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            for _ in 0..<10 { try client.post("a", String(repeating: "x", count: 60_000), durability: .stored) }
            // A pipe that is full before the end of the backup, and is not read.
            let path = daemon.folder.file("out")
            try #require(mkfifo(path, 0o600) == 0)
            let output = open(path, O_RDWR | O_CLOEXEC)
            defer { close(output) }
            let process = try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    """
                    processor=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
                    exec taskset -c $processor "$NOTIFYCTL" backup - >"$OUTPUT"
                    """,
                ],
                environment: Daemon.clean.merging([
                    "NOTIFYD_SOCKET": daemon.socket, "NOTIFYCTL": Programs.notifyctl, "OUTPUT": path,
                    "NOTIFYCTL_ANSWER_TIMEOUT": nil,
                ]) { $1 })
            var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
            while poll(&entry, 1, 0) == 1 { sched_yield() }
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: .seconds(60)) == .status(1))
        }

        @Test func `a backup under load is restored, and a connected client continues with it`() async throws {
            let daemon = try await Daemon.start()
            let (notifyctl, poster) = (Notifyctl(daemon), try RawClient(daemon))
            var posted: [UInt64: String] = [:]
            func post(_ text: String) throws {
                posted[try poster.post("a", text, durability: .stored).sequence] = text
            }
            let oldEpoch = try epoch(of: daemon)
            try await withNotificationClient(configuration: .init(socketPath: daemon.socket)) { client in
                let subscription = try await client.subscribe(to: ["a"], as: .durable("mine"))
                var messages = subscription.makeAsyncIterator()
                /// Receives and acknowledges messages until one has this text.
                func receive(until text: String) async throws -> [UInt64: String] {
                    var received: [UInt64: String] = [:]
                    while case let event? = try await messages.next() {
                        guard case .message(let message) = event else { continue }
                        received[message.sequence] = message.text
                        message.acknowledge()
                        if message.text == text { break }
                    }
                    return received
                }
                for number in 1...500 { try post("\(number)") }
                let before = posted
                #expect(try await receive(until: "500") == before)
                let file = daemon.folder.file("backup")
                let process = try notifyctl.start(["backup", file])
                for number in 501...1000 { try post("\(number)") }
                #expect(try await process.waitForExit() == .status(0))
                let errors = try await process.standardError.wait("the errors") { $0.isAtEnd ? $0 : nil }
                #expect(errors.text == "", "a progress bar is only for terminals")
                #expect(permissions(of: file) == 0o600)
                #expect(!exists(daemon.database + ".backup"))
                _ = try await receive(until: "1000")
                let last = try #require(posted.keys.max())
                #expect(try await daemon.stop() == .status(0))

                let run = try restore(file, daemon)
                #expect(try await run.process.waitForExit() == .status(0))
                let output = try await run.process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
                expectText(output, "the replaced database is kept as \(daemon.database).replaced")
                try await daemon.start()
                #expect(try epoch(of: daemon) != oldEpoch)
                let restored = try await log(of: daemon)
                #expect(before.allSatisfy { restored[$0.key] == $0.value })
                #expect(restored.allSatisfy { posted[$0.key] == $0.value })
                let after = try RawClient(daemon).post("a", "after", durability: .stored).sequence
                #expect(after > last)
                posted[after] = "after"
                // The client receives the messages again that it acknowledged after the backup, and then the new
                // message.
                let received = try await receive(until: "after")
                #expect(received.allSatisfy { posted[$0.key] == $0.value })
                #expect(received[after] == "after")
            }
        }

        /// The daemon is killed at each write to the copy.
        @Test(.enabled(if: Requirements.canTrace))
        func `a kill during a backup leaves no partial file, and the log stays intact`() async throws {
            var deaths = 0
            while true {
                let folder = try TemporaryFolder()
                let daemon = try await Daemon.start(folder: folder)
                let poster = try RawClient(daemon)
                for number in 1...20 { try poster.post("a", "\(number)", durability: .stored) }
                let tracer = try ChildProcess(
                    "strace",
                    [
                        "-f", "-p", "\(daemon.process.pid)", "-o", "/dev/null", "-e", "trace=pwrite64", "-e",
                        "inject=pwrite64:signal=KILL:when=\(deaths + 1)",
                    ])
                _ = try await tracer.standardError.wait("strace to attach") {
                    $0.text.contains("attached") ? true : nil
                }
                let file = folder.file("copy")
                let result = try await Notifyctl(daemon).run("backup", file)
                if result.status == .status(0) {
                    try await daemon.kill()
                    break
                }
                deaths += 1
                _ = try await daemon.process.waitForExit()
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 == "copy" } == [])
                try await daemon.start()
                #expect(!exists(daemon.database + ".backup") && !exists(daemon.database + ".backup-wal"))
                #expect(try await log(of: daemon).count == 20, "killed at write \(deaths)")
                let again = try await Notifyctl(daemon).run("backup", file)
                #expect(again.status == .status(0), "\(again.errors)")
                #expect(try await daemon.stop() == .status(0))
            }
            #expect(deaths > 2)
        }

        /// The folder of a stopped daemon, with a database of 20 messages and a backup of the first 10.
        private func makeBackup() async throws -> TemporaryFolder {
            let folder = try TemporaryFolder()
            let daemon = try await Daemon.start(folder: folder)
            let poster = try RawClient(daemon)
            for number in 1...10 { try poster.post("a", "\(number)", durability: .stored) }
            #expect(try await Notifyctl(daemon).run("backup", folder.file("copy")).status == .status(0))
            for number in 11...20 { try poster.post("a", "\(number)", durability: .stored) }
            #expect(try await daemon.stop() == .status(0))
            return folder
        }

        @Test(
            .enabled(if: Requirements.canTrace),
            arguments: ["write", "pwrite64", "fsync", "fdatasync", "link", "rename", "unlink"])
        func `a kill during a restore leaves the old log or the new log`(call: String) async throws {
            let original = try await makeBackup()
            var (deaths, counts) = (0, Set<Int>())
            while true {
                let folder = try TemporaryFolder()
                for name in ["notifyd.db", "copy"] {
                    try FileManager.default.copyItem(atPath: original.file(name), toPath: folder.file(name))
                }
                let daemon = try Daemon(folder: folder)
                let run = try NotifydRun(
                    ["--database", daemon.database, "--restore", folder.file("copy")],
                    launcher: [
                        "strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                        "inject=\(call):signal=KILL:when=\(deaths + 1)",
                    ], managerPath: folder.file("manager"))
                let isComplete = try await run.process.waitForExit() == .status(0)
                try await daemon.start()
                let messages = try await log(of: daemon)
                let count = messages.count
                #expect([10, 20].contains(count), "killed at \(call) \(deaths + 1)")
                #expect(messages.allSatisfy { $0.value == "\($0.key)" })
                #expect(try RawClient(daemon).post("a", durability: .stored).sequence > 20)
                #expect(!exists(daemon.database + ".restore") && !exists(daemon.database + ".restore-wal"))
                #expect(try await daemon.stop() == .status(0))
                counts.insert(count)
                if isComplete { break }
                deaths += 1
            }
            #expect(counts.contains(10), "the restore was never completed")
            print("\(call): killed \(deaths) times")
        }

        @Test func `a backup to an unusable path is refused`() async throws {
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            try RawClient(daemon).post("a", "x", durability: .stored)
            let file = try daemon.folder.write("mine", to: "file")
            let existing = try await notifyctl.run("backup", file)
            #expect(existing.status == .status(1))
            expectText(existing.errors, "exists already")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
            let missing = try await notifyctl.run("backup", daemon.folder.file("no/file"))
            #expect(missing.status == .status(1))
            expectText(missing.errors, "No such file or directory")
            // A backup must not replace the daemon's own files or take their paths, even before they exist or through a
            // link.
            let link = daemon.folder.file("folder")
            #expect(symlink(daemon.folder.path, link) == 0)
            let own = ["", "-wal", "-journal", ".lock", ".reserve"].map { daemon.database + $0 }
            let paths = own + [daemon.socket, daemon.socket + ".lock", daemon.socket + ".lock/../n.sock.lock"]
            for path in paths + paths.map({ $0.replacing(daemon.folder.path, with: link) }) {
                let before = try? Data(contentsOf: URL(fileURLWithPath: path))
                let refused = try await notifyctl.run("backup", path, "--force")
                #expect([.status(1), .status(64)].contains(refused.status), "\(path)")
                #expect(
                    [
                        "is the daemon's own file", "is not a backup of notifyd", "is not a regular file",
                        "Not a directory", "can't read",
                    ].contains { refused.errors.contains($0) }, "\(path): \(refused.errors)")
                #expect((try? Data(contentsOf: URL(fileURLWithPath: path))) == before || path.hasSuffix("-wal"))
            }
            unlink(daemon.socket + ".lock")
            expectText(
                try await notifyctl.run("backup", daemon.socket + ".lock").errors, "is the daemon's own file")
            #expect(try await notifyctl.run("backup", daemon.folder.path, "--force").status == .status(1))
            #expect(try await notifyctl.run("backup", "").status == .status(64))
            expectText(try await notifyctl.run("backup", file, "--force").errors, "is not a backup of notifyd")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
            let backup = daemon.folder.file("backup")
            for _ in 1...2 {
                let replaced = try await notifyctl.run("backup", backup, "--force")
                #expect(replaced.status == .status(0), "\(replaced.errors)")
            }
            #expect(try await log(of: daemon).count == 1)
        }

        @Test func `a backup is written to standard output, but not to a terminal`() async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("a", "x", durability: .stored)
            let file = daemon.folder.file("backup")
            let process = try ChildProcess(
                "sh", ["-c", "\"$0\" backup - > \"$1\"", Programs.notifyctl, file],
                environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
            #expect(try await process.waitForExit() == .status(0))
            #expect(try await daemon.stop() == .status(0))
            let run = try restore(file, daemon)
            #expect(try await run.process.waitForExit() == .status(0))
            try await daemon.start()
            #expect(try await log(of: daemon).values.map { $0 } == ["x"])
            let terminal = try ChildProcess(
                "script", ["-qec", "\(Programs.notifyctl) backup -", "/dev/null"],
                environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
            #expect(try await terminal.waitForExit() == .status(64))
            let output = try await terminal.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            expectText(output, "a backup is not written to a terminal")
        }

        @Test func `a backup on a disk without room is refused`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LOG_MIN_FREE_BYTES": "16TiB"])
            let result = try await Notifyctl(daemon).run("backup", daemon.folder.file("file"))
            #expect(result.status == .status(75))
            expectText(result.errors, "log.min_free_bytes")
            #expect(!exists(daemon.folder.file("file")))
        }

        @Test(.enabled(if: Requirements.canMount))
        func `a backup fails if the disk of its file is full`() async throws {
            let daemon = try await Daemon.start()
            let poster = try RawClient(daemon)
            for _ in 1...10 {
                try poster.post("a", String(repeating: "x", count: 100_000), durability: .stored)
            }
            let disk = daemon.folder.file("disk")
            mkdir(disk, 0o700)
            let script = "mount -t tmpfs -o size=128k none \(disk) && \"$@\"; status=$?; ls -A \(disk); exit $status"
            let process = try ChildProcess(
                "unshare", ["--mount", "sh", "-c", script, "sh", Programs.notifyctl, "backup", disk + "/file"],
                environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
            #expect(try await process.waitForExit() == .status(1))
            let errors = try await process.standardError.wait("the errors") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "No space left on device")
            #expect(try await process.standardOutput.wait("the files") { $0.isAtEnd ? $0.text : nil } == "")
            #expect(try await Notifyctl(daemon).run("backup", daemon.folder.file("file")).status == .status(0))
        }

        @Test func `a restore is refused while the daemon runs, and for a file that is not a backup`() async throws {
            let daemon = try await Daemon.start()
            let file = daemon.folder.file("backup")
            #expect(try await Notifyctl(daemon).run("backup", file).status == .status(0))
            expectText(try await restore(file, daemon).refusal(), "is held by another notifyd")
            try await daemon.stop()
            let text = try daemon.folder.write(String(repeating: "dear reader ", count: 1000), to: "text")
            expectText(
                try await restore(text, daemon).refusal(),
                "nothing was restored from '\(text)': it is not a backup of notifyd")
            expectText(try await restore(daemon.folder.file("none"), daemon).refusal(), "No such file or directory")
            expectText(
                try await restore(daemon.database, daemon).refusal(), "is the database that it would replace")
            let usage = try NotifydRun(["--restore", file, "--check"], managerPath: daemon.folder.file("usage"))
            #expect(try await usage.process.waitForExit() == .status(64))
            #expect(!exists(daemon.database + ".restore"))
            try await daemon.start()
        }

        @Test(.enabled(if: Requirements.isRoot))
        func `root restores the database of the daemon's user`() async throws {
            let folder = try await makeBackup()
            let other = try TemporaryFolder()
            #expect(chown(other.path, 54_321, 54_321) == 0)
            let run = try NotifydRun(
                ["--database", other.file("notifyd.db"), "--restore", folder.file("copy")],
                managerPath: folder.file("restore"))
            #expect(try await run.process.waitForExit() == .status(0))
            let attributes = try #require(FileAttributes(other.file("notifyd.db")))
            #expect(attributes.owner == 54_321 && attributes.permissions == 0o600)
        }
    }
}
