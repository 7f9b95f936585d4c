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

        /// Starts a daemon with its database on a new file system of 512 KiB, after running `commands` there.
        private func start(_ commands: String) throws -> NotifydRun {
            let disk = folder.file("disk")
            mkdir(disk, 0o700)
            let script = "mount -t tmpfs -o size=512k none \(disk) && cd \(disk) && \(commands); exec \"$@\""
            return try NotifydRun(
                ["--socket", folder.file("n.sock"), "--database", disk + "/n.db"],
                environment: ["NOTIFYD_LOG_MIN_FREE_BYTES": "0"],
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

        private var marks: Set<String> {
            get throws { Set(try FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) }
        }

        @Test func `a daemon on a full disk shuts down cleanly`() async throws {
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
