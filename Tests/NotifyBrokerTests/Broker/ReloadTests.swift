import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Limits that are changed while the broker runs.
struct ReloadTests {
    @Test func `lowering a limit refuses new requests and ends nothing`() {
        let host = TestHost()
        let client = host.connect(uid: 1000)
        for number in 1...3 { client.subscribe(UInt32(number), ["a\(number)"]) }
        host.run()
        _ = client.take()
        var configuration = BrokerConfiguration()
        configuration.subscriptionsPerUser = 2
        host.core.broker.configurationChanged(to: configuration)
        client.subscribe(4, ["a4"])
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        client.post("a3", .volatile)
        host.run()
        #expect(client.takeMessages().map(\.name) == ["a3"])
    }

    @Test func `raising a limit takes effect immediately`() {
        var configuration = BrokerConfiguration()
        configuration.durableSubscriptionsPerUser = 0
        let host = TestHost(configuration)
        let client = host.connect(uid: 1000)
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        host.core.broker.configurationChanged(to: BrokerConfiguration())
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(client.takeErrors().isEmpty && host.durable("inbox") != nil)
    }

    @Test func `limits that were announced to clients do not change`() {
        let host = TestHost()
        var configuration = BrokerConfiguration()
        configuration.maximumPayloadBytes = 1
        configuration.postWindow = 1
        host.core.broker.configurationChanged(to: configuration)
        let client = host.connect(uid: 1000)
        for _ in 0..<3 { client.post("a", payload: [1, 2, 3], .stored) }
        host.run()
        #expect(client.takeErrors().isEmpty)
    }

    @Test func `a lower memory limit evicts cached resolutions`() {
        let host = TestHost()
        let client = host.connect(uid: 1000)
        client.subscribe(1, [">"])
        for number in 0..<200 { client.post("name.\(number)", .volatile) }
        host.run()
        let before = host.core.broker.subscriptions.cacheBytes
        var configuration = BrokerConfiguration()
        configuration.memoryBytes = 8 * before / 2
        host.core.broker.configurationChanged(to: configuration)
        #expect(host.core.broker.subscriptions.cacheBytes <= before / 2)
    }
}
