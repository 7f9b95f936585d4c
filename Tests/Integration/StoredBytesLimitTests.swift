import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `limits.per_user.stored_bytes` with real files, restarts and reloads.
    @Suite struct StoredBytesLimitTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        private func limit(_ bytes: Int) throws {
            _ = try folder.write("limits: {per_user: {stored_bytes: \(bytes)}}\n", to: "notifyd.yaml")
        }

        /// Posts a stored message that takes 1,000 bytes in the log.
        private func post(_ daemon: Daemon) async throws -> Notifyctl.Result {
            let payload = String(repeating: "x", count: 1000 - 44 - 1)
            return try await Notifyctl(daemon).run("post", "a", payload, "--durability", "stored")
        }

        private func expectRefused(
            _ result: Notifyctl.Result, _ stored: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(result.status != .status(0), sourceLocation: sourceLocation)
            let user = getuid() == 0 ? "root" : "user \(getuid())"
            expectText(
                result.errors, "\(user) stores \(stored): a message of 1000 bytes would exceed the limit of",
                sourceLocation: sourceLocation)
            expectText(result.errors, "(limits.per_user.stored_bytes)", sourceLocation: sourceLocation)
        }

        @Test func `stored bytes are counted across kills and stops, and a reload changes the limit`() async throws {
            try limit(5000)
            let daemon = try await Daemon.start(["--config", folder.file("notifyd.yaml")], folder: folder)
            for _ in 0..<3 { #expect(try await post(daemon).status == .status(0)) }
            try await daemon.kill()
            try await daemon.start()
            for _ in 0..<2 { #expect(try await post(daemon).status == .status(0)) }
            expectRefused(try await post(daemon), "4.8KiB")
            let volatile = try await Notifyctl(daemon).run("post", "a", "x", "--durability", "volatile")
            #expect(volatile.status == .status(0))

            try await daemon.stop()
            try await daemon.start()
            expectRefused(try await post(daemon), "4.8KiB")
            let usage = try await Notifyctl(daemon).run("stats", "--limits")
            expectText(usage.output, "user.\(getuid()).stored_bytes 5000 of 5000\n")
            expectText(usage.output, "user.\(getuid()).stored_messages 5\n")

            try limit(6000)
            #expect(try await Notifyctl(daemon).run("reload").status == .status(0))
            #expect(try await post(daemon).status == .status(0))
            expectRefused(try await post(daemon), "5.8KiB")
            try limit(5500)
            #expect(try await Notifyctl(daemon).run("reload").status == .status(0))
            expectRefused(try await post(daemon), "5.8KiB")
            try await daemon.stop()
        }
    }
}
