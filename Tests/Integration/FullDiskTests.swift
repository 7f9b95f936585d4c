import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// notifyd on a small file system that becomes full.
    @Suite(.enabled(if: Requirements.canMount)) struct FullDiskTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        /// Starts a daemon with its database on a new file system, after running `commands` there.
        private func start(
            _ commands: String, size: String = "512k", environment: [String: String?] = [:]
        ) throws -> NotifydRun {
            let disk = folder.file("disk")
            mkdir(disk, 0o700)
            let script = "mount -t tmpfs -o size=\(size) none \(disk) && cd \(disk) && \(commands); exec \"$@\""
            return try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", disk + "/n.db"],
                environment: ["NOTIFYD_LOG_MIN_FREE_BYTES": "0"].merging(environment) { $1 },
                launcher: ["unshare", "--mount", "sh", "-c", script, "sh"], managerPath: folder.file("manager"))
        }

        private static let fill = "head -c 1M /dev/zero > filler 2>/dev/null"

        /// The path of a file on the disk, in the mount namespace of the daemon.
        private func file(_ name: String, of run: NotifydRun) -> String {
            "/proc/\(run.process.pid)/root\(folder.file("disk"))/\(name)"
        }

        private func waitForStatus(_ run: NotifydRun, _ prefix: String) async throws {
            _ = try await run.manager.messages.wait("the status \(prefix)") { messages in
                messages.reversed().prefix { !$0.hasPrefix("READY=") }.first { $0.hasPrefix("STATUS=\(prefix)") }
            }
        }

        @Test func `a daemon without room for its log starts and creates the log later`() async throws {
            let run = try start(Self.fill)
            try await run.ready()
            try await waitForStatus(run, "degraded: the database '\(folder.file("disk"))/n.db' can't be created")
            let client = try RawClient(path: folder.file("n.sock"))
            try client.subscribe("a")
            let first = try client.post("a", durability: .volatile).sequence
            #expect(try client.message().stamp.sequence == first)
            expectRefusal(.logFull) { try client.post("a", durability: .stored) }
            expectRefusal(.logFull) { try client.subscribe("a", as: 2, durable: "reader") }

            #expect(unlink(file("filler", of: run)) == 0)
            try await waitForStatus(run, "running")
            #expect(try client.subscribe("a", as: 2, durable: "reader").isResumed == false)
            #expect(try client.post("a", durability: .synced).sequence > first)
            #expect(try client.statistics()["log_messages"] == 1)
            #expect(try await run.stop() == .status(0))
        }

        @Test func `an existing log is served once there is disk space`() async throws {
            let daemon = try await Daemon.start(folder: folder)
            var client = try RawClient(daemon)
            try client.subscribe("a", durable: "reader")
            try client.detach()
            let stored = try client.post("a").sequence
            #expect(try await daemon.stop() == .status(0))

            let run = try start("cp \(daemon.database) n.db && \(Self.fill)")
            try await run.ready()
            try await waitForStatus(run, "degraded: ")
            client = try RawClient(path: folder.file("n.sock"))
            let volatile = try client.post("a", durability: .volatile).sequence
            #expect(volatile > stored)
            expectRefusal(.logFull) { try client.post("a") }
            expectRefusal(.logFull) { try client.subscribe("a", durable: "reader") }
            #expect(unlink(file("filler", of: run)) == 0)
            try await waitForStatus(run, "running")
            #expect(try client.subscribe("a", durable: "reader").isResumed)
            let message = try client.message()
            #expect(message.stamp.sequence == stored)
            #expect(try await run.stop() == .status(0))
        }

        /// Fills the disk to its last byte.
        private func fill(_ run: NotifydRun) {
            let filler = open(file("filler", of: run), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            defer { close(filler) }
            for size in [1 << 20, 4096] {
                let bytes = [UInt8](repeating: 1, count: size)
                while write(filler, bytes, bytes.count) > 0 {}
            }
            #expect(errno == ENOSPC)
        }

        /// The daemon has allocated a reserve for these requests. On the smaller disk the reserve is only for
        /// deletions.
        @Test(arguments: ["40m", "26m"])
        func `on a full disk, reading, removing subscriptions and purging still work, and make room`(
            _ size: String
        ) async throws {
            let run = try start("true", size: size, environment: ["NOTIFYD_LOG_CHECKPOINT_BYTES": "1MiB"])
            try await run.ready()
            let client = try RawClient(path: folder.file("n.sock"))
            let notifyctl = Notifyctl(socket: folder.file("n.sock"))
            try client.subscribe("a", durable: "reader")
            try client.detach()
            #expect(exists(file("n.db.reserve", of: run)))
            let payload = String(repeating: "x", count: 10_000)
            for _ in 1...600 { try client.post("a", payload, durability: .stored) }
            fill(run)
            // Posts until the file of the write-ahead log is full.
            var refused: Notifyctl.Result?
            for _ in 1...1000 where refused == nil {
                let result = try await notifyctl.run("post", "a", "--durability", "stored", input: .text(payload))
                if result.status != .status(0) { refused = result }
            }
            let errors = try #require(refused).errors
            expectText(errors, "the file system of '\(folder.file("disk"))' is full")
            expectText(errors, "notifyctl purge")
            fill(run)

            let log = try await notifyctl.run("log", "--format", "{sequence}")
            #expect(log.status == .status(0) && log.lines.count >= 600, "\(log.errors)")
            let removed = try await notifyctl.run("durable", "remove", "reader")
            #expect(removed.status == .status(0), "\(removed.errors)")
            let purged = try await notifyctl.run("purge", ">", "--yes")
            #expect(purged.status == .status(0), "\(purged.errors)")
            #expect(try client.statistics()["log_messages"] == 0)
            // The deletion frees the space of the messages. The daemon allocates the reserve again, although the filler
            // stays.
            try await waitForStatus(run, "running")
            try client.post("a", payload, durability: .stored)
            #expect(try await run.stop() == .status(0))
        }

        /// Large batches are still in the write-ahead log, and need room in the database.
        @Test(arguments: ["64m", "128m"])
        func `on a disk that posts have filled, messages can be deleted`(_ size: String) async throws {
            let run = try start("true", size: size)
            try await run.ready()
            let notifyctl = Notifyctl(socket: folder.file("n.sock"))
            let line = String(repeating: "x", count: 4000) + "\n"
            let lines = try folder.write(String(repeating: line, count: 40_000), to: "lines")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...3 {
                    group.addTask {
                        let posted = try await notifyctl.run(
                            "post", "a\(number)", "--lines", "--file", lines, "--quiet", "--durability", "stored")
                        #expect(posted.status == .status(75), "\(posted.errors)")
                    }
                }
                try await group.waitForAll()
            }
            for pattern in ["a1", ">"] {
                let purged = try await notifyctl.run("purge", pattern, "--yes")
                #expect(purged.status == .status(0), "\(purged.errors)")
            }
            let client = try RawClient(path: folder.file("n.sock"))
            #expect(try client.statistics()["log_messages"] == 0)
            try await waitForStatus(run, "running")
            try client.post("a", durability: .stored)
            #expect(try await run.stop() == .status(0))
        }

        @Test func `without room for a reserve, a refusal does not advise deletions, which would fail`() async throws {
            let run = try start("true", size: "8m")
            try await run.ready()
            let notifyctl = Notifyctl(socket: folder.file("n.sock"))
            #expect(!exists(file("n.db.reserve", of: run)))
            _ = try await run.process.standardError.wait("the warning") {
                $0.text.contains("there is no reserve with which messages can be deleted") ? true : nil
            }
            fill(run)
            let payload = String(repeating: "x", count: 100_000)
            var refused: Notifyctl.Result?
            for _ in 1...100 where refused == nil {
                let result = try await notifyctl.run("post", "a", "--durability", "stored", input: .text(payload))
                if result.status != .status(0) { refused = result }
            }
            let errors = try #require(refused).errors
            expectText(errors, "the file system of '\(folder.file("disk"))' is full: make room on it")
            #expect(!errors.contains("notifyctl purge"), "\(errors)")
            #expect(try await run.stop() == .status(0))
        }

        /// An attachment may free a part of the reserve. The test fills the freed space at once.
        @Test func `on a full disk, messages can be deleted after subscriptions were attached`() async throws {
            let run = try start("true", size: "40m", environment: ["NOTIFYD_LOG_CHECKPOINT_BYTES": "1MiB"])
            try await run.ready()
            let client = try RawClient(path: folder.file("n.sock"))
            let notifyctl = Notifyctl(socket: folder.file("n.sock"))
            let payload = String(repeating: "x", count: 10_000)
            for _ in 1...600 { try client.post("a", payload, durability: .stored) }
            fill(run)
            let names = (1...20).map { "reader-\($0)" }
            var count = 0
            for name in names {
                let attached = try await notifyctl.run(
                    "subscribe", "a", "--durable", name, "--from", "oldest", "--count", "1")
                if attached.status == .status(0) {
                    count += 1
                } else {
                    expectText(attached.errors, "is full")
                }
                fill(run)
            }
            #expect(count > 0)
            let log = try await notifyctl.run("log", "--format", "{sequence}")
            #expect(log.status == .status(0) && log.lines.count == 600, "\(log.errors)")
            let purged = try await notifyctl.run("purge", ">", "--yes")
            #expect(purged.status == .status(0), "\(purged.errors)")
            #expect(try client.statistics()["log_messages"] == 0)
            try await waitForStatus(run, "running")
            #expect(try await run.stop() == .status(0))
        }

        private var marks: Set<String> {
            get throws { Set(try FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) }
        }

        @Test func `on a full disk the daemon ends with status 0, and reports that closing has failed`() async throws {
            let earlier = try marks
            let run = try start("true")
            try await run.ready()
            let client = try RawClient(path: folder.file("n.sock"))
            try client.post("a", durability: .stored)
            // On a full disk, the daemon can't record the next sequence in the database, so it keeps its sequence mark.
            // The test removes the mark. The mark's name must be determined now from the database file, because the
            // file system is unmounted when the daemon ends.
            var status = stat()
            #expect(stat(file("n.db", of: run), &status) == 0)
            let mark = try marks.subtracting(earlier).filter { $0.hasSuffix("-\(status.st_dev)-\(status.st_ino)") }
            #expect(mark.count == 1)
            let filler = open(file("filler", of: run), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(filler) }
            let bytes = [UInt8](repeating: 1, count: 4096)
            while write(filler, bytes, bytes.count) > 0 {}
            #expect(errno == ENOSPC)
            defer { for name in mark { unlink("/dev/shm/" + name) } }
            #expect(try await run.stop() == .status(0))
            let errors = try await run.process.standardError.wait("the end of the log") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "could not be closed cleanly")
            expectText(errors, "notice notifyd: stopped")
        }
    }
}
