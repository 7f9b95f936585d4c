import Logging
import NIOCore
import NIOEmbedded
import NotifyBroker
import NotifyLog
import NotifyWire
import Synchronization
import Testing
import WireTestSupport

@testable import NotifyServer

/// The driver on embedded channels. The tests run each turn of the event loop themselves.
@Suite struct BrokerDriverTests {
    @Test func `the daemon is ready when the first sequences are reserved`() throws {
        let host = DriverHarness(isStarted: false)
        let ready = host.driver.start()
        host.run()
        #expect(host.store.commitCount == 1)
        host.store.answerCommit()
        host.run()
        try ready.wait()
        #expect(host.store.committed.first?.reserveBelow != nil)
    }

    @Test func `a failed reservation fails the start`() throws {
        let host = DriverHarness(isStarted: false)
        let ready = host.driver.start()
        host.run()
        host.store.answerCommit(StorageFailure(kind: .inputOutput, message: "no disk"))
        host.run()
        #expect(throws: StorageFailure.self) { try ready.wait() }
    }

    @Test func `a daemon on a full disk starts and reserves sequences later`() throws {
        let host = DriverHarness(isStarted: false)
        let ready = host.driver.start()
        host.run()
        host.store.answerCommit(StorageFailure(kind: .full, message: "no room"))
        host.run()
        try ready.wait()
        #expect(host.log.lines == ["error stored posts are refused: no room"])
        host.advance(.seconds(1))
        host.store.answerCommit()
        host.run()
        #expect(host.store.committed.last?.reserveBelow != nil)
        #expect(host.log.lines.last == "notice storage works again")
    }

    @Test func `the store is asked for the sequence of a time`() throws {
        let host = DriverHarness()
        let client = try host.connect()
        try client.send(
            Subscribe(
                request: 1, subscription: 1, patterns: ["a"], durableName: "d", start: .age(microseconds: 1_000_000)))
        host.run()
        #expect(host.store.searches == [1_699_999_999_000_000])
        #expect(host.store.commitCount == 0)
        host.store.answerSearch(.success(1))
        host.run()
        #expect(host.store.answerCommit())
        host.run()
        let changes = host.store.committed.last?.changes ?? []
        #expect(changes.contains { if case .create(let record) = $0 { record.startedAfter == 0 } else { false } })
    }

    @Test func `a reload passes a changed retention policy to the store`() {
        let host = DriverHarness()
        var policy = RetentionPolicy()
        for policy in [policy, nil] { host.driver.reloaded(limits: nil, policy: nil, retention: policy) }
        #expect(host.store.retentions.isEmpty)
        policy.maximumBytes = 1 << 20
        for _ in 0..<2 { host.driver.reloaded(limits: nil, policy: nil, retention: policy) }
        #expect(host.store.retentions == [policy])
        host.driver.reloaded(limits: nil, policy: nil, retention: RetentionPolicy())
        #expect(host.store.retentions == [policy, RetentionPolicy()])
    }

    // MARK: Repair

    @Test func `a repair continues the committed subscriptions`() throws {
        let host = DriverHarness()
        let client = try host.connect()
        try client.send(
            Subscribe(
                request: 1, subscription: 1, patterns: ["a"], durableName: "committed"))
        host.run()
        host.store.answerCommit()
        host.run()
        try client.send(post: "a", request: 2, .stored)
        host.run()
        try client.send(
            Subscribe(request: 3, subscription: 2, patterns: ["a"], durableName: "pending"))
        host.run()

        // The repair must wait for the commit in progress, because the outcome of the commit determines the contents of
        // the log.
        host.driver.repairStorage()
        host.run()
        #expect(host.store.repairs.isEmpty)
        host.store.answerCommit()
        host.run()
        let continuation = try #require(host.store.repairs.first)
        #expect(continuation.subscriptions.map(\.name) == ["committed"])
        #expect(continuation.subscriptions.first?.progress.isAttached == true)
        #expect(continuation.subscriptions.first?.owner.uid == 1000)
        #expect(continuation.nextSubscriptionID == DurableID(3))
        #expect(continuation.reservedBelow == host.store.committed.first?.reserveBelow)
        #expect(host.store.repairs.count == 1)
    }

    @Test(
        arguments: [
            (LogRepair.notNeeded, []), (.reopened("whole"), ["warning whole"]),
            (.replaced("gone", losses: [:]), ["critical gone"]),
            (.failed("move it"), ["error the log was not repaired: move it"]),
        ] as [(LogRepair, [String])])
    func `the result of a repair is logged`(repair: LogRepair, lines: [String]) {
        let host = DriverHarness()
        host.driver.repairStorage()
        host.store.answerRepair(repair)
        host.run()
        #expect(host.log.lines == lines)
    }

    @Test(
        arguments: [
            (LogRepair.notNeeded, ""), (.reopened("whole"), ""), (.replaced("gone", losses: [:]), ""),
            (.failed("move it"), "the log was not repaired: move it"),
        ] as [(LogRepair, String)])
    func `the answer to a reload waits for the repair of the log, and contains its failure`(
        repair: LogRepair, problem: String
    ) throws {
        let host = DriverHarness()
        var requested: (ConnectionID, UInt64)?
        host.driver.requestReload = { requested = ($0, $1) }
        let client = try host.connect(uid: 0)
        try client.send(Reload(request: 5))
        host.run()
        let (id, request) = try #require(requested)
        host.driver.reloaded(limits: nil, policy: nil, retention: nil)
        host.driver.reloadEnded(.applied(pendingSettings: ["socket"]), for: id, request: request)
        host.run()
        #expect(try client.take() == [])
        host.store.answerRepair(repair)
        host.run()
        #expect(try client.takeReloaded() == Reloaded(request: 5, pendingSettings: ["socket"], problem: problem))
    }

    @Test func `a post reaches the other channel with one flush per turn`() throws {
        let host = DriverHarness()
        let (poster, reader) = (try host.connect(), try host.connect())
        try reader.send(Subscribe(request: 1, subscription: 1, patterns: ["a"]))
        host.run()
        _ = try reader.take()
        for request in 1...3 as ClosedRange<UInt64> { try poster.send(post: "a", request: request) }
        host.run()
        #expect(try reader.take().filter { $0 == .deliver }.count == 3)
        #expect(reader.flushes.count == 2, "the subscription's answer, and all deliveries at once")
    }

    @Test func `frames that arrive in parts are joined`() throws {
        let host = DriverHarness()
        let client = try host.connect()
        for byte in Ping(request: 1).encoded { try client.send([byte]) }
        host.run()
        #expect(try client.take() == [.pong])
    }

    @Test func `a channel closed during its flush is forgotten`() throws {
        let host = DriverHarness()
        let (poster, first, second) = (try host.connect(), try host.connect(), try host.connect())
        for reader in [first, second] { try reader.send(Subscribe(request: 1, subscription: 1, patterns: ["a"])) }
        host.run()
        _ = try second.take()
        first.flushes.onFlush = { $0.close(promise: nil) }
        try poster.send(post: "a", request: 1)
        host.run()
        #expect(try second.take() == [.deliver])
        try poster.send(post: "a", request: 2)
        host.run()
        #expect(try second.take() == [.deliver])
        #expect(!first.channel.isActive)
    }

    @Test func `no more bytes are written while earlier ones wait for the socket`() throws {
        let host = DriverHarness()
        let (poster, reader) = (try host.connect(), try host.connect())
        try reader.send(Subscribe(request: 1, subscription: 1, patterns: ["a"]))
        host.run()
        _ = try reader.take()
        reader.flushes.isSocketFull = true
        try poster.send(post: "a", request: 1)
        host.run()
        #expect(try reader.take() == [.deliver])
        try poster.send(post: "a", request: 2)
        host.run()
        #expect(try reader.take() == [], "earlier bytes wait for the socket")
        reader.flushes.isSocketFull = false
        host.run()
        #expect(try reader.take() == [.deliver])
    }

    @Test func `the store learns which sequences are used before a peer gets them`() throws {
        let host = DriverHarness()
        let (poster, reader) = (try host.connect(), try host.connect())
        try reader.send(Subscribe(request: 1, subscription: 1, patterns: ["a"]))
        host.run()
        #expect(host.store.usedBelow == 1)
        var usedAtFlush: UInt64 = 0
        reader.flushes.onFlush = { _ in usedAtFlush = host.store.usedBelow }
        for request in 1...3 as ClosedRange<UInt64> { try poster.send(post: "a", request: request) }
        host.run()
        #expect(usedAtFlush == 4)
    }

    @Test func `stored posts are receipted after their commit`() throws {
        let host = DriverHarness()
        let client = try host.connect()
        try client.send(post: "a", request: 1, .stored, receipt: true)
        host.run()
        #expect(try client.take() == [])
        #expect(host.store.answerCommit())
        host.run()
        #expect(try client.take() == [.receipt])
        #expect(host.store.committed.last?.blocks.count == 1)
    }

    @Test func `storage failure and recovery are logged`() throws {
        let host = DriverHarness()
        let client = try host.connect()
        try client.send(post: "a", request: 1, .stored, receipt: true)
        host.run()
        host.store.answerCommit(StorageFailure(kind: .inputOutput, message: "broken"))
        host.run()
        #expect(try client.take() == [.error])
        #expect(host.log.lines.contains { $0.contains("error") && $0.contains("broken") })
        host.advance(.seconds(2))
        #expect(host.store.answerCommit(), "the broker tries again without a request")
        host.run()
        #expect(host.log.lines.contains { $0.contains("storage works again") })
    }

    @Test func `a late greeting ends the connection at its deadline`() throws {
        let host = DriverHarness()
        let client = try host.connect(greets: false)
        host.advance(.seconds(9))
        #expect(client.channel.isActive)
        host.advance(.seconds(1))
        #expect(try client.take() == [.error])
        #expect(!client.channel.isActive)
    }

    @Test func `time in which the process stood still counts towards no deadline`() throws {
        let host = DriverHarness()
        let client = try host.connect(greets: false)
        host.advance(.seconds(9))
        host.standStill(.seconds(300))
        #expect(client.channel.isActive)
        #expect(host.log.lines.contains { $0.contains("stood still for 300") })
        host.advance(.milliseconds(500))
        #expect(client.channel.isActive)
        host.advance(.seconds(1))
        #expect(try client.take() == [.error])
        #expect(!client.channel.isActive)
    }

    @Test func `a standstill between an event and a timer that is due counts towards no deadline`() throws {
        let host = DriverHarness()
        let other = try host.connect()
        let client = try host.connect(greets: false)
        host.run()
        host.standStillWithinTurn(LoopClock.maximumWait)
        try other.send(Ping(request: 1))
        host.standStill(.seconds(300))
        #expect(client.channel.isActive)
        host.advance(.seconds(9))
        #expect(client.channel.isActive)
        host.advance(.seconds(1))
        #expect(!client.channel.isActive)
    }

    @Test func `an idle daemon has not stood still`() throws {
        let host = DriverHarness()
        let client = try host.connect()
        for _ in 0..<3 {
            host.advance(.seconds(20))
            host.standStill(.seconds(300))
            host.driver.updateMetrics()
            host.standStill(.seconds(300))
            try client.send(Ping(request: 1))
            host.run()
        }
        #expect(!host.log.lines.contains { $0.contains("stood still") })
    }

    /// A host that drains for at most 30 s, and a client that does not read.
    private func draining() throws -> (host: DriverHarness, client: DriverClient, drained: EventLoopFuture<Void>) {
        let host = DriverHarness()
        let client = try host.connect()
        client.flushes.isSocketFull = true
        try client.send(Ping(request: 1))
        host.run()
        let drained = host.driver.drain(within: .seconds(30))
        host.run()
        while host.store.answerCommit() { host.run() }
        return (host, client, drained)
    }

    @Test func `time in which the process stood still does not count towards the limit of draining`() throws {
        let (host, client, drained) = try draining()
        host.standStill(.seconds(300))
        #expect(client.channel.isActive)
        host.advance(.seconds(31))
        try drained.wait()
        #expect(!client.channel.isActive)
    }

    @Test func `a deadline that has already passed takes effect after the loop has polled`() throws {
        let host = DriverHarness()
        let late = try host.connect(greets: false)
        host.run()
        var requests = 0
        host.driver.requestWakeUp = { requests += 1 }
        host.takeTime(.seconds(60))
        for _ in 0..<2 { host.driver.wake(at: .zero) }
        host.run()
        #expect(requests == 1)
        #expect(late.channel.isActive)
        host.driver.wokenUp()
        host.run()
        #expect(!late.channel.isActive)
    }

    @Test func `answers that arrive while ticks run do not keep the loop from polling`() throws {
        let host = DriverHarness()
        var requested: ConnectionID?
        host.driver.requestReload = { id, _ in requested = id }
        let client = try host.connect(uid: 0)
        try client.send(Reload(request: 1))
        host.run()
        let id = try #require(requested)
        var wakeUps = 0
        host.driver.requestWakeUp = { wakeUps += 1 }
        host.driver.reloadEnded(.applied(pendingSettings: []), for: id, request: 1)
        host.run()
        #expect(try client.take() == [.reloaded])
        #expect(wakeUps == 0)
        for request in 2...3 as ClosedRange<UInt64> {
            host.driver.reloadEnded(.applied(pendingSettings: []), for: id, request: request)
            host.run()
        }
        #expect(try client.take() == [], "the tick comes after the poll")
        #expect(wakeUps == 1)
        host.driver.wokenUp()
        host.run()
        #expect(try client.take() == [.reloaded, .reloaded])
    }

    @Test func `draining commits, notifies every client and closes`() throws {
        let host = DriverHarness()
        let (client, other) = (try host.connect(), try host.connect())
        try client.send(post: "a", request: 1, .stored, receipt: true)
        let drained = host.driver.drain(within: .seconds(30))
        host.run()
        #expect(try client.take() == [], "its post is not committed yet")
        while host.store.answerCommit() { host.run() }
        #expect(try client.take() == [.receipt, .closing])
        #expect(try other.take() == [.closing])
        host.run()
        try drained.wait()
        #expect(!client.channel.isActive && !other.channel.isActive)
        #expect(host.driver.nextSequence == 2)
    }

    @Test func `draining closes connections in slices, and the loop polls in between`() throws {
        let host = DriverHarness()
        let clients = try (0...EndingBudget.connectionsPerTurn).map { _ in try host.connect() }
        let drained = host.driver.drain(within: .seconds(30))
        host.run()
        host.driver.wokenUp()
        host.run()
        host.driver.requestWakeUp = {}
        while host.store.answerCommit() { host.run() }
        #expect(clients.count { $0.channel.isActive } == 1)
        host.driver.wokenUp()
        host.run()
        try drained.wait()
        #expect(!clients.contains { $0.channel.isActive })
    }

    @Test func `another client is served while many half-close their connections in one poll`() throws {
        let host = DriverHarness()
        let other = try host.connect()
        let clients = try (0..<EndingBudget.connectionsPerTurn).map { _ in try host.connect() }
        try other.send(Ping(request: 1))
        for client in clients { client.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        #expect(try other.take() == [.pong], "before the loop runs a task")
        for _ in 0..<4 { host.advance(.milliseconds(1)) }
        #expect(!clients.contains { $0.channel.isActive })
        #expect(other.channel.isActive)
    }

    @Test func `draining ends at its limit if a client does not read`() throws {
        let (host, client, drained) = try draining()
        #expect(client.channel.isActive)
        host.advance(.seconds(30))
        try drained.wait()
        #expect(!client.channel.isActive)
        #expect(host.log.lines.contains { $0.contains("draining timed out after") })
    }

    @Test func `connections and refusals are logged at debug, requests at trace, until the level changes`() throws {
        let host = DriverHarness(level: .trace)
        let client = try host.connect(uid: 7, pid: 4711)
        try client.send(Subscribe(request: 1, subscription: 1, patterns: ["user.8.x"]))
        try client.send(post: "b", request: 2)
        host.run()
        let lines = host.log.lines
        #expect(lines.contains { $0.hasPrefix("debug connected") && $0.contains("uid=7") && $0.contains("pid=4711") })
        #expect(
            lines.contains { $0.hasPrefix("debug refused:") && $0.contains("code=forbidden") && $0.contains("uid=7") })
        #expect(lines.contains { $0.hasPrefix("trace subscribe") && $0.contains("request=1") })
        #expect(lines.contains { $0.hasPrefix("trace post") && $0.contains("name=b") })
        host.log.level.withLock { $0 = .info }
        host.run()
        let count = host.log.lines.count
        try client.send(post: "c", request: 3)
        host.run()
        try client.send(post: "d", request: 4)
        host.run()
        #expect(!host.log.lines[count...].contains { $0.contains("name=d") }, "d is not traced any more")
    }
}
