import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The load of some clients must delay other clients by at most a few turns of the event loop.
struct FairnessTests {
    private func frames(_ count: Int, _ frame: (UInt64) -> [UInt8]) -> [UInt8] {
        (1...UInt64(count)).flatMap(frame)
    }

    /// Returns the number of turns until the client's ping is answered.
    private func turnsUntilPong(_ client: Client, _ host: TestHost) -> Int {
        client.ping()
        for turn in 1...1_000 {
            host.tick()
            if client.take().contains(where: { if case .pong = $0 { true } else { false } }) { return turn }
        }
        return .max
    }

    @Test(arguments: ["statistics", "unknown frames", "pings", "posts"])
    func `frames of many connections are processed in turns`(_ what: String) {
        let host = TestHost()
        let attackers = (0..<20).map { _ in host.connect(uid: 1000) }
        let innocent = host.connect(uid: 2000)
        let sent = frames(1_000) { request in
            switch what {
            case "statistics": StatisticsRequest(request: request).encoded
            case "unknown frames": rawFrame(0x3F, [])
            case "pings": Ping(request: request).encoded
            default: postFrame(request, name: Array("a".utf8), .volatile, receipt: true)
            }
        }
        for attacker in attackers { attacker.send(sent) }
        let turns = turnsUntilPong(innocent, host)
        #expect(turns <= 2)
        host.run()
        #expect(attackers.allSatisfy { $0.isRead })
        #expect(attackers.allSatisfy { $0.take().count == 1_000 }, "every request is answered")
    }

    @Test func `reading pauses for a user that exceeds its share, even within a frame`() {
        let host = TestHost()
        let (busy, slow) = (host.connect(uid: 1000), host.connect(uid: 1000))
        let innocent = host.connect(uid: 2000)
        busy.send(frames(10_000) { postFrame($0, name: Array("a".utf8), .volatile, receipt: false) })
        innocent.ping()
        let ping = Ping(request: 1).encoded
        slow.send(Array(ping.dropLast()))
        #expect(host.connection(slow).pauses == .backlog)
        #expect(host.connection(innocent).pauses.isEmpty)
        host.run()
        #expect(slow.isRead)
        slow.send([ping[ping.count - 1]])
        host.run()
        #expect(slow.take().count == 1)
        #expect(host.lastSequence == 10_000)
    }

    @Test func `partial frames that wait for their turn are limited`() {
        var configuration = BrokerConfiguration()
        configuration.receivedBytesPerUser = 1 << 20
        let host = TestHost(configuration)
        let busy = host.connect(uid: 1000)
        let slow = (0..<4).map { _ in host.connect(uid: 1000) }
        let innocent = host.connect(uid: 2000)
        busy.send(frames(20_000) { postFrame($0, name: Array("a".utf8), .volatile, receipt: false) })
        innocent.ping()
        let part = postFrame(
            1, name: Array("a".utf8), payload: [UInt8](repeating: 0, count: 500_000), .volatile, receipt: false)
        for client in slow { client.send(Array(part.dropLast())) }
        // The pending bytes of the busy connection are charged as well.
        #expect(slow.map { host.isClosing($0) } == [false, true, true, true])
    }

    @Test func `the end of subscriptions counts as work`() {
        let host = TestHost()
        let client = host.connect()
        let rest = Array(repeating: "t", count: 30).joined(separator: ".")
        client.subscribe(1, (0..<64).map { "p\($0).*.\(rest)" })
        let work = host.work(of: client) { client.detach(1) }
        #expect(work > 64 * 30)
    }

    @Test func `reading the tail ring resolves names in slices`() {
        let host = TestHost()
        let (attacker, poster) = (host.connect(uid: 1000), host.connect(uid: 2000))
        let start = Array(repeating: "a", count: 10).joined(separator: ".")
        attacker.subscribe(1, ["\(start).*"], durable: "d", window: 1_000)
        host.run()
        attacker.detach(1)
        for number in 0..<100 { poster.post("\(start).n\(number)", .stored) }
        host.run()
        // The patterns are all combinations of `a` and `*` at ten positions, so each pattern matches each name. Adding
        // patterns invalidates the cached resolutions, so the names are resolved again.
        for number in 0..<16 as Range<UInt32> {
            let patterns = (0..<64 as Range<UInt32>).map { low in
                (0..<10).map { (number << 6 | low) >> $0 & 1 == 0 ? "a" : "*" }.joined(separator: ".") + ".*"
            }
            attacker.subscribe(number + 2, patterns)
        }
        host.run()
        #expect(attacker.takeErrors().isEmpty)
        attacker.subscribe(1, ["\(start).*"], durable: "d", window: 1_000)
        var most = 0
        repeat { most = max(most, host.work(of: attacker) { host.tick() }) } while host.wantsTick || host.work()
        #expect(most < 3 * FairScheduler.unitsPerTurn)
        #expect(attacker.takeMessages().count == 100)
    }

    @Test func `frames of one connection stay in order across turns`() {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect())
        reader.subscribe(1, [">"])
        host.run()
        _ = reader.take()
        poster.send(
            frames(10_000) {
                postFrame(
                    $0, name: Array("a".utf8), payload: withUnsafeBytes(of: $0) { Array($0) }, .volatile, receipt: false
                )
            })
        #expect(!poster.isRead || host.lastSequence < 10_000)
        host.run()
        let payloads = reader.takeMessages().map { $0.payload }
        #expect(payloads == (1...10_000 as ClosedRange<UInt64>).map { withUnsafeBytes(of: $0) { Array($0) } })
    }

    @Test func `a long list is answered in slices`() {
        let host = TestHost()
        let (attacker, innocent) = (host.connect(uid: 1000), host.connect(uid: 2000))
        for number in 1...1_000 as ClosedRange<UInt32> { attacker.subscribe(number, ["a.b"], durable: "d\(number)") }
        host.run()
        _ = attacker.take()
        for _ in 0..<20 { attacker.send(ListRequest(request: attacker.nextRequest())) }
        #expect(turnsUntilPong(innocent, host) <= 2)
        host.run()
        #expect(attacker.take().count == 20 * 1_001)
    }

    @Test func `too many patterns that match the same name are refused before they cost time`() throws {
        let host = TestHost()
        let (attacker, innocent) = (host.connect(uid: 1000), host.connect(uid: 2000))
        // All combinations of `a` and `*` at 14 positions match the name of 14 tokens `a`.
        for number in 0..<256 as Range<UInt32> {
            let patterns = (0..<64 as Range<UInt32>).map { low in
                (0..<14).map { (number << 6 | low) >> $0 & 1 == 0 ? "a" : "*" }.joined(separator: ".")
            }
            attacker.subscribe(number + 1, patterns)
        }
        host.run()
        let refused = attacker.takeErrors()
        #expect(refused.count > 100 && refused.allSatisfy { $0.message.contains("limits.per_user.pattern_overlap") })
        let work = host.work(of: innocent) {
            innocent.post(Array(repeating: "a", count: 14).joined(separator: "."), .volatile)
        }
        #expect(work < host.configuration.patternOverlapPerUser + 1_000)
    }

    @Test func `a delivery is charged once per connection, however many subscriptions match`() {
        let host = TestHost()
        let (many, poster) = (host.connect(), host.connect())
        for number in 1...4_000 as ClosedRange<UInt32> { many.subscribe(number, [">"]) }
        host.run()
        _ = many.take()
        poster.post("a", .volatile)
        let work = host.work(of: poster) { poster.post("a", .volatile) }
        #expect(work < FairScheduler.Cost.read + 200)
        host.run()
        #expect(many.takeMessages().count == 2)
    }

    @Test func `the patterns of a closed connection are removed in slices`() {
        let host = TestHost()
        let (many, innocent) = (host.connect(uid: 1000), host.connect(uid: 2000))
        let rest = Array(repeating: "t", count: 30).joined(separator: ".")
        for number in 1...200 as ClosedRange<UInt32> {
            many.subscribe(number, (0..<64).map { "p\(number)-\($0).*.\(rest)" })
        }
        host.run()
        let name = "p1-1.a.\(rest)"
        innocent.post(name, .volatile)
        host.run()
        #expect(many.takeMessages().count == 1)
        host.closed(many)
        let bytes = host.amount(of: .registrationBytes, 1000)
        #expect(bytes > 10 << 20)

        // A new connection reuses the slot, but does not receive the messages for the closed connection.
        let next = host.connect(uid: 3000, greets: false)
        #expect(next.id.slot == many.id.slot)
        innocent.post(name, .volatile)
        let work = host.work(of: innocent) { host.tick() }
        #expect(work < 4 * FairScheduler.slice)
        #expect(host.amount(of: .registrationBytes, 1000) > bytes / 2)
        #expect(next.takeMessages().isEmpty)
        host.run()
        #expect(host.holdsNothing(1000))
        #expect(host.core.broker.subscriptions.byteCount(of: 1000) == 0)
    }
}

extension TestHost {
    /// Returns the units of work that the broker spends while `send` runs.
    fileprivate func work(of client: Client, _ send: () -> Void) -> Int {
        let before = core.broker.scheduler.spent
        send()
        return core.broker.scheduler.spent - before
    }
}
