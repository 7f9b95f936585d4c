import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

struct StorageHealthTests {
    @Test func `a storage problem and its end are reported once`() {
        let host = TestHost()
        let client = host.connect()
        for _ in 0..<3 {
            client.post("a", .stored)
            host.tick()
            host.work(failingWith: .full)
            host.tick()
        }
        #expect(host.healthChanges == ["the disk is full"])
        client.post("a", .volatile)
        host.run()
        #expect(client.take().contains { if case .receipt = $0 { true } else { false } }, "volatile posts succeed")
        host.advance(.seconds(1))
        host.work(failingWith: .broken)
        host.tick()
        host.advance(.seconds(1))
        host.run()
        #expect(host.healthChanges == ["the disk is full", "the disk is broken", nil])
    }

    @Test func `a failed commit is retried each second without new posts`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.tick()
        host.work(failingWith: .full)
        host.tick()
        #expect(host.nextDeadline == .seconds(1))
        #expect(host.store.jobs.isEmpty)
        host.advance(.milliseconds(999))
        #expect(host.store.jobs.isEmpty)
        host.advance(.milliseconds(1))
        #expect(host.store.jobs.count == 1)
        host.work(failingWith: .full)
        host.tick()
        #expect(host.nextDeadline == .seconds(2))
        host.advance(.seconds(1))
        host.run()
        #expect(host.healthChanges == ["the disk is full", nil])
        #expect(host.nextDeadline == nil)
    }

    @Test(arguments: [false, true])
    func `after a change of storage, the next batch decides whether messages are stored`(_ works: Bool) {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.tick()
        host.work(failingWith: .full)
        host.tick()
        _ = client.take()
        client.post("a", .stored)
        host.tick()
        #expect(client.take().contains { if case .error = $0 { true } else { false } }, "refused at once")

        host.core.broker.storageChanged(now: host.now)
        client.post("a", .stored)
        host.tick()
        client.post("a", .stored)
        host.tick()
        #expect(client.take().isEmpty, "both wait for the outcome")
        #expect(host.store.jobs.count == 1)
        host.work(failingWith: works ? nil : .full)
        host.tick()
        if works {
            host.run()
            #expect(client.take().count { if case .receipt = $0 { true } else { false } } == 2)
            #expect(host.healthChanges == ["the disk is full", nil])
        } else {
            host.work(failingWith: .full)
            host.tick()
            #expect(client.take().count { if case .error = $0 { true } else { false } } == 2)
            #expect(host.healthChanges == ["the disk is full"])
            #expect(host.nextDeadline == .seconds(1), "the retries continue")
        }
    }

    @Test func `a store without an answer for ten seconds is a problem`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.tick()
        #expect(host.nextDeadline == .seconds(10))
        host.advance(.milliseconds(9999))
        #expect(host.healthChanges.isEmpty)
        host.advance(.milliseconds(1))
        #expect(host.healthChanges.count == 1 && host.healthChanges[0] != nil)
        #expect(host.nextDeadline == nil, "the broker only waits for the store")
        client.post("a", .volatile)
        host.tick()
        #expect(client.take().count == 1)
        host.run()
        #expect(host.healthChanges.count == 2 && host.healthChanges[1] == nil)
        #expect(client.take().count == 1, "the post was stored")
    }

    @Test func `a page without an answer is a problem`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let host = TestHost(configuration)
        let client = host.connect()
        client.post("a", .stored)
        host.run()
        client.subscribe(1, ["a"], durable: "inbox", from: .oldest)
        host.tick()
        host.work()
        host.tick()
        #expect(host.nextDeadline == .seconds(10))
        host.advance(.seconds(10))
        #expect(host.healthChanges.count == 1)
        host.work()
        host.tick()
        #expect(client.takeMessages().count == 1)
        host.advance(.seconds(1))
        host.run()
        #expect(host.healthChanges.count == 2 && host.healthChanges[1] == nil)
        #expect(host.nextDeadline == nil)
    }

    @Test func `a page that can't be read is requested again`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let host = TestHost(configuration)
        let poster = host.connect()
        poster.post("a", .stored)
        host.run()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox", from: .oldest)
        host.tick()
        host.work()
        host.tick()
        host.work(failingWith: .broken)
        host.tick()
        #expect(client.takeMessages().isEmpty)
        #expect(host.healthChanges == ["the disk is broken"])
        host.run()
        #expect(client.takeMessages().isEmpty)
        host.advance(.seconds(1))
        host.run()
        #expect(client.takeMessages().count == 1)
        #expect(host.healthChanges == ["the disk is broken", nil])
        #expect(host.reader("inbox")?.isLive == true)
    }

    @Test func `a late or duplicate outcome has no effect`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.tick()
        guard let outcome = host.store.perform() else {
            Issue.record("no batch")
            return
        }
        host.report(outcome)
        host.tick()
        #expect(client.take().count == 1)
        host.report(outcome)
        host.run()
        #expect(client.take().isEmpty)
        #expect(host.counter("stored") == 1)
    }
}
