import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing
import WireTestSupport

/// Limits at their bounds, and after charges are released.
struct LimitTests {
    private func configured(_ change: (inout BrokerConfiguration) -> Void) -> TestHost {
        var configuration = BrokerConfiguration()
        change(&configuration)
        return TestHost(configuration)
    }

    private func codes(_ client: Client) -> [UInt16] { client.takeErrors().map(\.code) }

    @Test(arguments: [true, false])
    func `connections are limited`(_ isPerUser: Bool) {
        let host = configured {
            if isPerUser { $0.connectionsPerUser = 3 } else { $0.connections = 3 }
        }
        let clients = (0..<3).map { host.connect(uid: isPerUser ? 1000 : UInt32($0)) }
        let refused = host.connect(greets: false)
        refused.send(Hello(instance: .one))
        host.run()
        let errors = refused.takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.limitReached.rawValue])
        #expect(errors.first?.message.contains("3 connections") == true)
        #expect(refused.isClosed)
        host.closed(clients[1])
        #expect(host.connect().isClosed == false, "the charge is released")
        if isPerUser { #expect(host.connect(uid: 2000).isClosed == false) }
    }

    @Test func `subscriptions of a connection are limited`() {
        let host = configured { $0.subscriptionsPerConnection = 3 }
        let client = host.connect()
        client.subscribe(1, ["a"])
        client.subscribe(2, ["a"], durable: "inbox")
        client.subscribe(3, ["a"])
        client.subscribe(4, ["a"])
        host.run()
        #expect(codes(client) == [41])
        client.detach(2)
        client.subscribe(5, ["a"])
        client.subscribe(6, ["a"])
        host.run()
        #expect(codes(client) == [41])
        #expect(host.counter("subscriptions") == 3)
    }

    @Test func `the memory of a user's subscriptions is limited`() {
        let host = configured { $0.subscriptionBytesPerUser = 5_000 }
        let (client, stranger) = (host.connect(), host.connect(uid: 2000))
        for number in 1...20 as ClosedRange<UInt32> { client.subscribe(number, ["*.a\(number).b"]) }
        stranger.subscribe(1, ["*.a.b"])
        host.run()
        let refused = client.takeErrors()
        #expect(refused.count > 0 && refused.count < 20)
        #expect(refused.allSatisfy { $0.message.contains("limits.per_user.subscription_bytes") })
        #expect(codes(stranger).isEmpty)
        for number in 1...(20 - UInt32(refused.count)) { client.detach(number) }
        client.subscribe(30, ["*.a.b"])
        host.run()
        #expect(codes(client).isEmpty, "the charge is released")
    }

    @Test func `the memory of removed subscriptions is reused`() {
        let host = configured { $0.subscriptionBytesPerUser = 100_000 }
        let client = host.connect()
        client.subscribe(1, ["kept.*"], durable: "kept")
        var number: UInt32 = 2
        var count = 0
        for _ in 0..<3 {
            let first = number
            while client.takeErrors().isEmpty, number < first + 1_000 {
                client.subscribe(number, ["*.a\(number).b"])
                host.run()
                number += 1
            }
            count += Int(number - first)
            for number in first..<number { client.detach(number) }
            host.run()
            _ = client.take()
        }
        #expect(count > 3 * 50 && count < 3 * 1_000)
        client.detach(1)
        client.subscribe(number, ["kept.*"], durable: "kept")
        host.run()
        #expect(codes(client).isEmpty)
    }

    @Test func `subscriptions of a user are limited`() {
        let host = configured { $0.subscriptionsPerUser = 2 }
        let (first, second, stranger) = (host.connect(), host.connect(), host.connect(uid: 2000))
        first.subscribe(1, ["a"])
        second.subscribe(1, ["a"])
        second.subscribe(2, ["a"])
        stranger.subscribe(1, ["a"])
        host.run()
        #expect(codes(first).isEmpty && codes(stranger).isEmpty)
        #expect(codes(second) == [41])
        host.closed(first)
        second.subscribe(2, ["a"])
        host.run()
        #expect(codes(second).isEmpty)
    }

    @Test func `durable subscriptions of a user are limited`() {
        let host = configured { $0.durableSubscriptionsPerUser = 2 }
        let client = host.connect()
        for (number, name) in ["one", "two", "three"].enumerated() {
            client.subscribe(UInt32(number + 1), ["a"], durable: name)
        }
        host.run()
        #expect(codes(client) == [41])
        client.detach(1)
        host.run()
        client.subscribe(4, ["a"], durable: "three")
        client.remove("one")
        host.run()
        #expect(codes(client) == [41], "a detached subscription counts until it is removed")
        client.subscribe(4, ["a"], durable: "three")
        host.run()
        #expect(codes(client).isEmpty)
    }

    @Test func `recovered durable subscriptions count towards the limit`() {
        let store = FakeStore()
        var host = TestHost(store: store)
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "one")
        host.run()
        var configuration = BrokerConfiguration()
        configuration.durableSubscriptionsPerUser = 1
        host = TestHost(configuration, store: store)
        let next = host.connect()
        next.subscribe(1, ["a"], durable: "two")
        host.run()
        #expect(codes(next) == [41])
    }

    @Test(arguments: [0, 1, 64, 65])
    func `a subscription has 1 to 64 patterns`(_ count: Int) {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, (0..<count).map { "a\($0)" })
        host.run()
        #expect(codes(client) == (1...64 ~= count ? [] : [ErrorCode.invalidPattern.rawValue]))
    }

    @Test func `invalid subscriptions are refused with an error`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(0, ["a"])
        client.subscribe(1, ["a.>.b"])
        client.subscribe(1, ["a"], durable: "in box")
        client.subscribe(1, ["a"], durable: String(repeating: "x", count: 65))
        client.subscribe(1, ["a"], durable: String(repeating: "x", count: 64))
        client.subscribe(1, ["a"])
        client.detach(7)
        client.send(
            rawFrame(
                FrameKind.subscribe.rawValue,
                [9, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0] + [UInt8](repeating: 0, count: 8) + [5, 0, 0, 1]
                    + [UInt8](repeating: 0, count: 8 + 28) + [1, 97]))
        host.run()
        #expect(codes(client) == [61, 21, 24, 24, 61, 60, 27])
        #expect(host.counter("subscriptions") == 1)
    }

    @Test func `a detached subscription number can be reused`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"])
        client.detach(1)
        client.subscribe(1, ["b"])
        client.post("a", .volatile, receipt: false)
        client.post("b", .volatile, receipt: false)
        host.run()
        #expect(client.takeMessages().map(\.name) == ["b"])
    }
}
