import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The end of a loss. The end is committed together with the acknowledgement of a later message.
struct LossCommitTests {
    private let host = TestHost()
    private let client: Client
    private let sequences: [UInt64]

    /// Makes a subscription that has lost the first four of six messages. Its client has acknowledged the fifth
    /// message. The acknowledgement is in the batch in flight, together with another message.
    init() {
        client = host.connect()
        client.subscribe(1, ["a"], durable: "d")
        client.detach(1)
        host.run()
        for _ in 0..<6 { client.post("a", .stored) }
        host.run()
        sequences = host.store.messages.map(\.sequence)
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[3], of: "d"), now: host.now)
        client.subscribe(1, ["a"], durable: "d")
        host.run()
        client.acknowledge(1, sequences[4]...sequences[4])
        client.post("x", .stored)
        host.advance(.milliseconds(50))
    }

    private var loss: Loss? { host.durable("d")?.loss }
    private var storedLoss: Loss? { host.store.subscription(named: "d")?.loss }

    private func reset() {
        client.send(Reset(request: client.nextRequest(), durableName: "d", to: .oldest))
        host.tick()
    }

    @Test func `a loss ends with the commit`() {
        #expect(loss?.count == 4)
        host.work()
        #expect(loss == nil && storedLoss == nil)
    }

    @Test func `a loss stays if the commit fails, and ends with the next one`() {
        host.work(failingWith: .full)
        #expect(loss?.count == 4 && storedLoss == loss)
        host.advance(.seconds(10))
        host.run()
        #expect(loss == nil && storedLoss == nil)
    }

    @Test func `messages that are lost during the commit stay lost`() {
        host.core.broker.deleted(host.store.drop(sequences[5]...sequences[5], of: "d"), now: host.now)
        host.work()
        #expect(loss?.count == 1 && storedLoss?.count == 1)
        client.post("a", .stored)
        host.run()
        client.acknowledge(1, 0...host.lastSequence)
        host.advance(.seconds(1))
        host.run()
        #expect(loss == nil && storedLoss == nil)
    }

    @Test func `a reset during the commit ends the loss`() {
        reset()
        #expect(loss == nil && storedLoss?.count == 4)
        host.work()
        host.run()
        #expect(loss == nil && storedLoss == nil)
    }

    @Test func `a loss that has ended does not return with a failed reset`() {
        reset()
        host.work()
        host.tick()
        host.work(failingWith: .full)
        #expect(loss == nil && storedLoss == nil)
    }

    @Test func `a loss returns with a failed reset if the commit of its end failed, too`() {
        reset()
        host.work(failingWith: .full)
        host.advance(.seconds(10))
        host.tick()
        host.work(failingWith: .full)
        #expect(loss?.count == 4 && storedLoss == loss)
        host.advance(.seconds(10))
        host.run()
        #expect(loss == nil && storedLoss == nil)
    }
}
