import WireTestSupport
import NotifyWire
import Testing

/// A well-behaved client that runs beside misbehaving ones, and must not be affected by them.
final class Bystander {
    private let poster: RawClient
    private let reader: RawClient
    private var count = 0

    init(_ daemon: Daemon) throws {
        poster = try RawClient(daemon)
        reader = try RawClient(daemon)
        try reader.subscribe("bystander.*", as: 1)
        try reader.subscribe("bystander.*", as: 2, durable: "bystander")
    }

    /// Posts a message, and expects it as the next two messages, one for each subscription.
    func expectUndisturbed(sourceLocation: SourceLocation = #_sourceLocation) throws {
        count += 1
        let receipt = try poster.post("bystander.\(count)", "still here")
        #expect(receipt.subscribers == 1, sourceLocation: sourceLocation)
        #expect(receipt.stored == 1, sourceLocation: sourceLocation)
        var subscriptions: Set<UInt32> = []
        for _ in 0..<2 {
            guard case .message(let message) = try reader.next() else {
                Issue.record("the bystander received a frame that is not a message", sourceLocation: sourceLocation)
                return
            }
            #expect(message.sequence == receipt.sequence, sourceLocation: sourceLocation)
            #expect(!message.isRedelivery, sourceLocation: sourceLocation)
            subscriptions.insert(message.subscription)
        }
        // 0 stands for the volatile subscription.
        #expect(subscriptions == [0, 2], sourceLocation: sourceLocation)
        try reader.acknowledge(2, through: receipt.sequence)
    }

    func statistics() throws -> [String: UInt64] { try poster.statistics() }

    /// Waits until the daemon has this number of connections besides the bystander's two. Polls the statistics.
    func waitForOtherConnections(_ wanted: UInt64, within limit: Duration = .seconds(300)) throws {
        let deadline = ContinuousClock.now + limit
        var found = UInt64.max
        while ContinuousClock.now < deadline {
            found = try statistics()["connections", default: 0] - 2
            if found == wanted { return }
        }
        throw TimedOut(description: "timed out waiting for \(wanted) other connections; there are \(found)")
    }
}
