import Glibc
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    @Suite struct LogLimitTests {
        @Test func `a log at its maximum size refuses posts`() async throws {
            let daemon = try await Daemon.start(
                environment: ["NOTIFYD_LOG_MAX_BYTES": "1MiB", "NOTIFYD_LOG_MAX_BACKLOG": "unlimited"])
            let notifyctl = Notifyctl(daemon)
            let created = try await notifyctl.run("durable", "create", "unread", "a.b")
            #expect(created.status == .status(0), "\(created.errors)")
            let body = String(repeating: "x", count: 400_000)
            for _ in 0..<2 {
                let stored = try await notifyctl.run("post", "a.b", "--durability", "stored", input: .text(body))
                #expect(stored.status == .status(0), "\(stored.errors)")
            }
            let refused = try await notifyctl.run("post", "a.b", "--durability", "stored", input: .text(body))
            #expect(refused.status == .status(75))
            expectText(refused.errors, "the log has reached log.max_bytes (1048576 bytes)")
            let volatile = try await notifyctl.run("post", "a.b", "--durability", "volatile", input: .text(body))
            #expect(volatile.status == .status(0), "\(volatile.errors)")
        }

        @Test func `the space of deleted messages returns to the disk without a further post`() async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write(
                "log: {max_bytes: 64MiB, retention: [{names: [\">\"], max_bytes: 1MiB}]}\n", to: "notifyd.yaml")
            let daemon = try await Daemon.start(["--config", file], folder: folder)
            let client = try RawClient(daemon)
            let body = String(repeating: "x", count: 20_000)
            for _ in 0..<1500 { try client.post("a", body, durability: .stored) }
            func size(_ path: String) -> UInt64 {
                var status = stat()
                return stat(path, &status) == 0 ? UInt64(status.st_size) : 0
            }
            var isSmall = false
            let deadline = ContinuousClock.now + .seconds(60)
            while !isSmall, ContinuousClock.now < deadline {
                let statistics = try client.statistics()
                let (database, wal) = (size(daemon.database), size(daemon.database + "-wal"))
                isSmall =
                    database < 10 << 20 && wal <= 8 << 20 && statistics["log_bytes"] == database
                    && statistics["wal_bytes"] == wal
            }
            let last = try client.statistics()
            #expect(isSmall, "\(last)")
        }

        @Test func `history gives way to new messages, even in the smallest log`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LOG_MAX_BYTES": "1MiB"])
            let notifyctl = Notifyctl(daemon)
            let body = String(repeating: "x", count: 400_000)
            for _ in 0..<6 {
                let stored = try await notifyctl.run("post", "a.b", "--durability", "stored", input: .text(body))
                #expect(stored.status == .status(0), "\(stored.errors)")
            }
        }

        @Test func `after a reload with a lower minimum of free disk space, posts are stored again`() async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write("log: {min_free_bytes: 16TiB}\n", to: "notifyd.yaml")
            let daemon = try await Daemon.start(["--config", file], folder: folder)
            let notifyctl = Notifyctl(daemon)
            let refused = try await notifyctl.run("post", "a", "--durability", "stored", input: .text("x"))
            #expect(refused.status == .status(75))
            expectText(refused.errors, "fewer than the 17592186044416 of log.min_free_bytes")
            _ = try folder.write("log: {min_free_bytes: 0}\n", to: "notifyd.yaml")
            #expect(try await notifyctl.run("reload").status == .status(0))
            _ = try await daemon.process.standardError.wait("storage to work") { errors in
                errors.text.contains("storage works again") ? true : nil
            }
            let stored = try await notifyctl.run("post", "a", "--durability", "stored", input: .text("x"))
            #expect(stored.status == .status(0), "\(stored.errors)")
        }
    }
}
