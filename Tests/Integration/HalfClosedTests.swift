import Foundation
import NotifyWire
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Clients that shut down their socket for writing after the last request, as `printf … | nc -N` does.
    @Suite struct HalfClosedTests {
        @Test func `every post before the shutdown gets its receipt, and then the connection ends`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let first = client.newRequests(50)
            for number in 0..<50 {
                try client.send(
                    postFrame(first + UInt64(number), name: Array("a".utf8), payload: [UInt8(number)], .stored))
            }
            #expect(shutdown(client.socket.descriptor, Int32(SHUT_WR)) == 0)
            let receipts = try client.waitForEnd().compactMap { if case .receipt(let one) = $0 { one } else { nil } }
            #expect(receipts.map(\.request) == Array(first..<first + 50))
            #expect(try RawClient(daemon).statistics()["connections"] == 1)
        }

        @Test func `a client that reads only after it has shut down its socket gets all answers`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let count: UInt64 = 2_000
            var bytes: [UInt8] = []
            for _ in 0..<count { bytes += StatisticsRequest(request: client.newRequest()).encoded }
            try client.send(bytes, readingMeanwhile: false)
            #expect(shutdown(client.socket.descriptor, Int32(SHUT_WR)) == 0)
            #expect(try client.waitForEnd().count == Int(count))
        }
    }
}
