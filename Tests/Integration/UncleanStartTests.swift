import Foundation
import NotifyClient
import TestSupport
import Testing

extension IntegrationTests {
    /// The gap that a subscriber gets after the daemon was killed and restarted.
    @Suite struct UncleanStartTests {
        @Test func `the gap after a kill counts the posts between the last delivery and the kill`() async throws {
            let daemon = try await Daemon.start()
            var configuration = daemon.patientConfiguration
            configuration.backoff = .milliseconds(5) ... .milliseconds(50)
            let client = NotificationClient(configuration: configuration)
            let running = Task { try await client.run() }
            let subscription = try await client.subscribe(to: ["watched"])
            var events = subscription.makeAsyncIterator()

            let seen = try await client.post("watched", "seen").sequence
            guard case .message = try await events.next() else {
                Issue.record("the first post was not delivered")
                return
            }
            for _ in 0..<3 { try await client.post("other", "not watched") }
            try await daemon.kill()
            try await daemon.start()

            guard case .gap(let gap) = try await events.next() else {
                Issue.record("the subscription has no gap")
                return
            }
            #expect(gap.sequences == seen + 1...seen + 3)
            #expect(gap.missed == 3)
            #expect(try await client.post("watched", "later").sequence == seen + 4)
            await client.stop()
            try await running.value
        }
    }
}
