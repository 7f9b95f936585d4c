import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

struct StorageHealthTests {
    @Test func `a storage problem and its end are reported once`() {
        let shell = Shell()
        let client = shell.connect()
        for _ in 0..<3 {
            client.post("a", .stored)
            shell.tick()
            shell.work(failingWith: .full)
            shell.tick()
        }
        #expect(shell.healthChanges == ["the disk is full"])
        client.post("a", .volatile)
        shell.run()
        #expect(client.take().contains { if case .receipt = $0 { true } else { false } }, "volatile traffic flows on")
        shell.advance(.seconds(1))
        shell.work(failingWith: .broken)
        shell.tick()
        shell.advance(.seconds(1))
        shell.run()
        #expect(shell.healthChanges == ["the disk is full", "the disk is broken", nil])
    }

    @Test func `a failed commit is retried each second without new posts`() {
        let shell = Shell()
        let client = shell.connect()
        client.post("a", .stored)
        shell.tick()
        shell.work(failingWith: .full)
        shell.tick()
        #expect(shell.nextDeadline == .seconds(1))
        #expect(shell.store.jobs.isEmpty)
        shell.advance(.milliseconds(999))
        #expect(shell.store.jobs.isEmpty)
        shell.advance(.milliseconds(1))
        #expect(shell.store.jobs.count == 1)
        shell.work(failingWith: .full)
        shell.tick()
        #expect(shell.nextDeadline == .seconds(2))
        shell.advance(.seconds(1))
        shell.run()
        #expect(shell.healthChanges == ["the disk is full", nil])
        #expect(shell.nextDeadline == nil)
    }

    @Test func `a store without an answer for ten seconds is a problem`() {
        let shell = Shell()
        let client = shell.connect()
        client.post("a", .stored)
        shell.tick()
        #expect(shell.nextDeadline == .seconds(10))
        shell.advance(.milliseconds(9999))
        #expect(shell.healthChanges.isEmpty)
        shell.advance(.milliseconds(1))
        #expect(shell.healthChanges.count == 1 && shell.healthChanges[0] != nil)
        #expect(shell.nextDeadline == nil, "nothing can be done but wait")
        client.post("a", .volatile)
        shell.tick()
        #expect(client.take().count == 1)
        shell.run()
        #expect(shell.healthChanges.count == 2 && shell.healthChanges[1] == nil)
        #expect(client.take().count == 1, "the post was stored after all")
    }

    @Test func `a page without an answer is a problem`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let shell = Shell(configuration)
        let client = shell.connect()
        client.post("a", .stored)
        shell.run()
        client.subscribe(1, ["a"], durable: "inbox", from: .oldest)
        shell.tick()
        shell.work()
        shell.tick()
        #expect(shell.nextDeadline == .seconds(10))
        shell.advance(.seconds(10))
        #expect(shell.healthChanges.count == 1)
        shell.work()
        shell.tick()
        #expect(client.takeMessages().count == 1)
        shell.advance(.seconds(1))
        shell.run()
        #expect(shell.healthChanges.count == 2 && shell.healthChanges[1] == nil)
        #expect(shell.nextDeadline == nil)
    }

    @Test func `a page that can't be read is requested again`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let shell = Shell(configuration)
        let poster = shell.connect()
        poster.post("a", .stored)
        shell.run()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox", from: .oldest)
        shell.tick()
        shell.work()
        shell.tick()
        shell.work(failingWith: .broken)
        shell.tick()
        #expect(client.takeMessages().isEmpty)
        #expect(shell.healthChanges == ["the disk is broken"])
        shell.run()
        #expect(client.takeMessages().isEmpty)
        shell.advance(.seconds(1))
        shell.run()
        #expect(client.takeMessages().count == 1)
        #expect(shell.healthChanges == ["the disk is broken", nil])
        #expect(shell.reader("inbox")?.isLive == true)
    }

    @Test func `a late or duplicate outcome has no effect`() {
        let shell = Shell()
        let client = shell.connect()
        client.post("a", .stored)
        shell.tick()
        guard let outcome = shell.store.perform() else {
            Issue.record("no batch")
            return
        }
        shell.report(outcome)
        shell.tick()
        #expect(client.take().count == 1)
        shell.report(outcome)
        shell.run()
        #expect(client.take().isEmpty)
        #expect(shell.counter("stored") == 1)
    }
}
