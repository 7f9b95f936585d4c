import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Changed settings of a durable subscription with an attached client.
struct ConfiguringTests {
    /// The deadlines that the client receives, in microseconds.
    private func notices(after changes: DurableSettingChanges) -> [UInt64] {
        let host = TestHost()
        let (member, other) = (host.connect(), host.connect())
        member.subscribe(1, ["a"], durable: "d")
        host.run()
        _ = member.take()
        other.send(Configure(request: other.nextRequest(), durableName: "d", changes: changes))
        host.run()
        return member.take().compactMap { if case .deadline(let notice) = $0 { notice.microseconds } else { nil } }
    }

    @Test func `a client gets the deadline when the deadline or the maximum of deliveries changes`() {
        #expect(notices(after: .init(deadlineMicroseconds: 1_000_000)) == [1_000_000])
        #expect(notices(after: .init(maximumDeliveries: 3)) == [0])
    }

    @Test func `a client gets no notice of other changes`() {
        #expect(notices(after: .init(deadlineMicroseconds: 0, maximumDeliveries: 0)) == [])
        #expect(notices(after: .init(retryDelays: [5], maximumInFlight: 10)) == [])
    }
}
