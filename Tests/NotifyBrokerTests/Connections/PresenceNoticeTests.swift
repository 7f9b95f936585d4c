import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The notices that clients have connected and disconnected.
struct PresenceNoticeTests {
    private static var configuration: BrokerConfiguration {
        var configuration = BrokerConfiguration()
        configuration.postsPresence = true
        return configuration
    }

    /// Connects a client that subscribes to the notices.
    private func watcher(_ host: TestHost, uid: UInt32 = 0) -> Client {
        let client = host.connect(uid: uid)
        client.subscribe(1, ["notifyd.clients.>"])
        host.run()
        return client
    }

    private func notices(_ client: Client) -> [String] {
        client.takeMessages().map { "\($0.name) \($0.text)" }
    }

    @Test func `a greeting and the end of a connection are posted with its peer and number`() {
        let host = TestHost(Self.configuration)
        let root = watcher(host)
        #expect(notices(root).isEmpty, "a client connects before it subscribes")
        let peer = Peer(identity: Identity(uid: 1000, gid: 100), pid: 77)
        let client = host.connect(peer, greeting: Hello(instance: .next()))
        let payload = #"{"uid":1000,"gid":100,"pid":77,"connection":2}"#
        let messages = root.takeMessages()
        #expect(messages.map(\.name) == ["notifyd.clients.1000.connected"] && messages.map(\.text) == [payload])
        #expect(messages.map(\.stamp.uid) == [9] && messages.map(\.stamp.pid) == [7])
        #expect(messages.map(\.object) == [""])
        host.closed(client)
        host.run()
        #expect(notices(root) == ["notifyd.clients.1000.disconnected \(payload)"])
    }

    @Test func `nothing is posted by default`() {
        let host = TestHost()
        let root = watcher(host)
        let before = host.nextSequence
        host.closed(host.connect())
        host.run()
        #expect(notices(root).isEmpty && host.nextSequence == before)
    }

    @Test func `the end of a connection without a greeting is not posted`() {
        let host = TestHost(Self.configuration)
        let root = watcher(host)
        host.closed(host.connect(greets: false))
        let silent = host.connect(greets: false)
        silent.send(Hello(lowestVersion: 200, highestVersion: 201, instance: .next()))
        host.run()
        #expect(silent.isClosed)
        _ = host.connect(greets: false)
        host.advance(host.configuration.greetingTimeout)
        host.run()
        host.advance(host.configuration.closingTimeout)
        host.run()
        #expect(host.connectionCount == 1)
        #expect(notices(root).isEmpty)
    }

    @Test func `the end of a connection that failed is posted when it is removed`() {
        let host = TestHost(Self.configuration)
        let root = watcher(host)
        let client = host.connect()
        _ = notices(root)
        client.stopTaking()
        client.send(Hello(instance: .next()))
        host.run()
        #expect(host.isClosing(client) && notices(root).isEmpty)
        host.advance(host.configuration.closingTimeout)
        host.run()
        #expect(root.takeMessages().map(\.name) == ["notifyd.clients.1000.disconnected"])
    }

    @Test func `notices are in the order of events`() {
        let host = TestHost(Self.configuration)
        let root = watcher(host)
        let first = host.connect(uid: 1)
        _ = notices(root)
        host.closed(first)
        let second = host.connect(uid: 2, greets: false)
        second.send(Hello(instance: .next()))
        second.subscribe(1, ["notifyd.clients.>"])
        host.run()
        #expect(
            root.takeMessages().map(\.name) == ["notifyd.clients.1.disconnected", "notifyd.clients.2.connected"])
    }

    @Test func `a client that subscribes with its greeting does not receive its own notice`() {
        let host = TestHost(Self.configuration)
        let root = host.connect(uid: 0, greets: false)
        root.send(Hello(instance: .next()))
        root.subscribe(1, ["notifyd.clients.>"])
        host.run()
        #expect(notices(root).isEmpty)
    }

    @Test func `a connection that ends while outboxes are flushed is posted in the next tick`() {
        let host = TestHost(Self.configuration)
        let root = watcher(host)
        let client = host.connect()
        _ = notices(root)
        client.ping()
        host.onFlush = { [unowned host] id in
            if id == client.id, !client.isClosed { host.closed(client) }
        }
        host.tick()
        #expect(client.isClosed && host.wantsTick)
        host.run()
        #expect(root.takeMessages().map(\.name) == ["notifyd.clients.1000.disconnected"])
    }

    @Test func `notices are stored for a durable subscription`() {
        let host = TestHost(Self.configuration)
        let root = host.connect(uid: 0)
        root.subscribe(1, ["notifyd.clients.>"], durable: "presence")
        host.run()
        host.closed(host.connect())
        host.run()
        #expect(
            root.takeMessages().map(\.name)
                == ["notifyd.clients.1000.connected", "notifyd.clients.1000.disconnected"])
        #expect(host.store.messages.count == 2)
    }

    @Test func `nothing is posted during a drain`() {
        let host = TestHost(Self.configuration)
        let root = watcher(host)
        let (first, second) = (host.connect(), host.connect())
        host.run()
        _ = notices(root)
        host.closed(first)
        host.drain()
        host.closed(second)
        host.connect(greets: false).send(Hello(instance: .next()))
        host.run()
        #expect(host.isDrained && notices(root).isEmpty)
    }

    @Test func `a reload turns the notices on and off`() {
        let host = TestHost()
        let root = watcher(host)
        let client = host.connect()
        host.core.broker.configurationChanged(to: Self.configuration)
        host.closed(client)
        host.run()
        #expect(root.takeMessages().map(\.name) == ["notifyd.clients.1000.disconnected"])
        host.core.broker.configurationChanged(to: BrokerConfiguration())
        host.closed(host.connect())
        host.run()
        #expect(notices(root).isEmpty)
    }

    @Test func `only operators receive the notices by default`() {
        let host = TestHost(Self.configuration, policy: AccessPolicy(daemonUID: 9))
        let (daemon, user, wide) = (watcher(host, uid: 9), watcher(host, uid: 1000), host.connect(uid: 1000))
        wide.subscribe(1, [">"])
        host.run()
        #expect(user.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        _ = (daemon.take(), wide.take())
        _ = host.connect(uid: 1000)
        #expect(daemon.takeMessages().count == 1)
        #expect(user.takeMessages().isEmpty && wide.takeMessages().isEmpty)
    }
}
