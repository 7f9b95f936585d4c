import Testing
import TestSupport

extension IntegrationTests {
    @Suite struct LogLimitTests {
        @Test func `a log at its maximum size refuses posts`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LOG_MAX_BYTES": "1MiB"])
            let notifyctl = Notifyctl(daemon)
            let body = String(repeating: "x", count: 400_000)
            for _ in 0..<2 {
                let stored = try await notifyctl.run("post", "a.b", "--durability", "stored", input: .text(body))
                #expect(stored.status == .status(0), "\(stored.errors)")
            }
            let refused = try await notifyctl.run("post", "a.b", "--durability", "stored", input: .text(body))
            #expect(refused.status == .status(77))
            expectText(refused.errors, "the log has reached its limit of 1048576 bytes")
            let volatile = try await notifyctl.run("post", "a.b", "--durability", "volatile", input: .text(body))
            #expect(volatile.status == .status(0), "\(volatile.errors)")
        }
    }
}
