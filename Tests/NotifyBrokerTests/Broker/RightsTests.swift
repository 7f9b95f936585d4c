import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

/// Names under `notifyd.` are reserved for the daemon; names under `user.<uid>.` belong to that user and to root.
struct RightsTests {
    @Test(
        arguments: [
            ("a", 1000, true), ("notifyd", 0, false), ("notifyd.x", 0, false), ("notifyd.x", 1000, false),
            ("notifydx.y", 1000, true), ("user.1000.x", 1000, true), ("user.1000", 1000, true),
            ("user.2000.x", 1000, false), ("user.2000", 1000, false), ("user.2000.x", 0, true), ("user", 1000, true),
            ("user.x", 1000, false), ("user.01000.x", 1000, false), ("user.x", 0, true), ("users.2000.x", 1000, true),
        ] as [(String, UInt32, Bool)])
    func `posting requires the right to post`(_ name: String, _ uid: UInt32, _ isAllowed: Bool) {
        let host = TestHost()
        let client = host.connect(uid: uid)
        for durability in Durability.allCases { client.post(name, durability) }
        host.run()
        let errors = client.take().compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(errors == (isAllowed ? [] : [UInt16](repeating: ErrorCode.forbidden.rawValue, count: 4)))
    }

    @Test(
        arguments: [
            ("user.2000.x", 1000, false), ("user.2000.>", 1000, false), ("user.2000", 1000, false),
            ("user.1000.>", 1000, true), ("user.*.x", 1000, true), ("user.>", 1000, true), (">", 1000, true),
            ("user.2000.>", 0, true), ("notifyd.limits.>", 1000, false), ("notifyd.>", 0, true),
            ("notifyd.dead.1000", 1000, true), ("notifyd.dead.2000", 1000, false), ("notifyd.>", 1000, true),
        ] as [(String, UInt32, Bool)])
    func `subscribing to another user's names is refused`(_ pattern: String, _ uid: UInt32, _ isAllowed: Bool) {
        let host = TestHost()
        let client = host.connect(uid: uid)
        client.subscribe(1, ["a", pattern])
        client.subscribe(2, [pattern, "a"], durable: "inbox")
        host.run()
        let errors = client.take().compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(errors == (isAllowed ? [] : [40, 40]))
        #expect(host.counter("durable_subscriptions") == (isAllowed ? 1 : 0))
    }

    /// Checks live messages, messages from the ring, and messages from pages.
    @Test func `wildcards do not match names of other users`() {
        for ring in [0, 1 << 20] {
            var configuration = BrokerConfiguration()
            configuration.tailRingBytes = ring
            let host = TestHost(configuration)
            let (owner, stranger, root) = (host.connect(uid: 1000), host.connect(uid: 2000), host.connect(uid: 0))
            let all = [owner, stranger, root]
            for client in all {
                client.subscribe(1, [">"])
                client.subscribe(2, ["user.*.x"], durable: "exact")
                client.subscribe(3, [">"], durable: "all")
            }
            host.run()
            for client in all { _ = client.take() }
            let request = owner.post("user.1000.x", .stored)
            host.run()
            let receipt = owner.inbox.compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }.first
            #expect(receipt?.request == request)
            #expect(receipt?.subscribers == 2 && receipt?.stored == 4, "only permitted subscribers are counted")
            let live = all.map { $0.takeMessages().map(\.subscription).sorted() }
            #expect(live == [[0, 2, 3], [], [0, 2, 3]])
            for client in all { host.closed(client) }
            let returning = [1000, 2000, 0].map { host.connect(uid: UInt32($0)) }
            for client in returning {
                client.subscribe(2, ["user.*.x"], durable: "exact")
                client.subscribe(3, [">"], durable: "all")
            }
            host.run()
            #expect(returning.map { $0.takeMessages().map(\.subscription).sorted() } == [[2, 3], [], [2, 3]])
            #expect((host.counter("pages_read") == 0) == (ring > 0))
        }
    }

    @Test func `automatic durability is volatile if no durable subscriber may receive the message`() {
        let host = TestHost()
        let (owner, stranger) = (host.connect(uid: 1000), host.connect(uid: 2000))
        stranger.subscribe(1, [">"], durable: "all")
        host.run()
        owner.post("user.1000.x")
        host.run()
        #expect(host.store.messages.isEmpty)
    }

    @Test func `root receives all names, but those of the daemon only without a leading wildcard`() throws {
        let host = TestHost()
        let (root, other) = (host.connect(uid: 0), host.connect(uid: 1000))
        root.subscribe(1, [">", "*.x"], durable: "all")
        root.subscribe(2, ["notifyd.>"], durable: "own")
        other.subscribe(1, ["jobs"], durable: "jobs")
        host.run()
        #expect(root.takeErrors().isEmpty)
        for name in ["user.1000.x", "a.x", "jobs"] { other.post(name) }
        host.run()
        let received = root.takeMessages()
        #expect(received.map(\.name) == ["user.1000.x", "a.x", "jobs"] && received.allSatisfy { $0.subscription == 1 })
        other.reject(1, try #require(other.takeMessages().first).sequence, .dead)
        host.advance(.milliseconds(60))
        host.run()
        let letters = root.takeMessages()
        #expect(letters.map(\.name) == ["notifyd.dead.1000"] && letters.map(\.subscription) == [2])
    }

    @Test func `only root removes and lists durable subscriptions of other users`() {
        let host = TestHost()
        let (owner, stranger, root) = (host.connect(uid: 1000), host.connect(uid: 2000), host.connect(uid: 0))
        owner.subscribe(1, ["a"], durable: "inbox")
        host.run()
        owner.detach(1)
        host.run()
        for client in [owner, stranger, root] { client.send(ListRequest(request: client.nextRequest())) }
        host.run()
        #expect(
            [owner, stranger, root].map { client in
                client.take().count { if case .subscriptionEntry = $0 { true } else { false } }
            } == [1, 0, 1])
        stranger.remove("inbox", uid: 1000)
        stranger.remove("inbox")
        host.run()
        #expect(stranger.takeErrors().map(\.code) == [40, 60])
        root.remove("inbox", uid: 1000)
        host.run()
        #expect(root.take() == [.removed(Removed(request: 2))])
        #expect(host.store.subscriptions.isEmpty)
    }
}
