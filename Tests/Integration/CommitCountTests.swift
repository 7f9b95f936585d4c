import WireTestSupport
import Foundation
import NotifyWire
import Testing

extension IntegrationTests {
    /// Posts share commits, as the daemon's counters show.
    @Suite struct CommitCountTests {
        @Test func `ten thousand stored posts share commits`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let before = try client.statistics()
            let receipts = try client.pipeline(10_000, name: "load", durability: .stored)
            let after = try client.statistics()
            #expect(receipts.count == 10_000)
            #expect(receipts.allSatisfy { $0.durability == .stored })
            #expect(zip(receipts, receipts.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
            let commits = after["commits", default: 0] - before["commits", default: 0]
            #expect((1..<500).contains(commits))
            #expect(after["stored"] == 10_000)
            #expect(after["log_messages"] == 10_000)
        }

        @Test func `volatile posts commit nothing`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let before = try client.statistics()
            #expect(try client.pipeline(10_000, name: "load", durability: .automatic).count == 10_000)
            let after = try client.statistics()
            #expect(after["commits"] == before["commits"])
            #expect(after["log_messages"] == 0)
        }
    }
}

extension RawClient {
    /// Posts `count` messages as fast as the post window allows.
    ///
    /// - Returns: The receipts in the order of arrival.
    func pipeline(_ count: Int, name: String, durability: Durability, payload: [UInt8] = []) throws -> [Receipt] {
        // The default post window. Posts beyond it would be refused.
        let window = 8192
        let name = Array(name.utf8)
        var receipts: [Receipt] = []
        var sent = 0
        while receipts.count < count {
            var posts: [UInt8] = []
            while sent < count, sent - receipts.count < window {
                posts += postFrame(newRequest(), name: name, payload: payload, durability)
                sent += 1
            }
            if !posts.isEmpty { try send(posts) }
            // Waits for half of the outstanding receipts, but at least one, so that the next iteration sends many
            // posts.
            for _ in 0..<max(1, (sent - receipts.count) / 2) {
                receipts.append(
                    try wait("a receipt") { event in
                        if case .error(let error) = event { throw Refused(frame: error) }
                        if case .receipt(let receipt) = event { return receipt }
                        return nil
                    })
            }
        }
        return receipts
    }
}
