import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct ForbiddenLogTests {
    @Test func `a request omitted because of the total limit takes no token of its user`() {
        var log = ForbiddenLog()
        for uid in 0..<10 as Range<UInt32> { #expect(log.record(uid, now: .zero) == 0) }
        #expect(log.record(10, now: .zero) == nil)
        #expect(log.record(10, now: .milliseconds(100)) == 1)
        #expect(log.record(11, now: .milliseconds(100)) == nil)
    }

    @Test func `one request per second and user is logged and the others are counted`() {
        var log = ForbiddenLog()
        #expect(log.record(1000, now: .zero) == 0)
        for _ in 0..<5 { #expect(log.record(1000, now: .milliseconds(500)) == nil) }
        #expect(log.record(1001, now: .milliseconds(500)) == 0)
        #expect(log.record(1000, now: .seconds(1)) == 5)
        #expect(log.record(1000, now: .seconds(2)) == 0)
    }

    @Test func `ten requests per second are logged in total`() {
        var log = ForbiddenLog()
        let logged = (0..<2_000).count { log.record(UInt32($0), now: .zero) != nil }
        #expect(logged == 10)
        #expect(log.record(3_000, now: .seconds(10)) == 0)
    }

    @Test func `a forbidden request is reported with user, process and rule`() {
        let rule = AccessRule(.deny, [.post], names: ["hr.>"], source: .file("/etc/p.yaml", line: 3))
        let host = TestHost(policy: AccessPolicy(rules: [rule]))
        let client = host.connect(uid: 1000, pid: 42)
        for _ in 0..<3 { client.post("hr.pay") }
        host.run()
        let message = "user 1000 may not post 'hr.pay': denied by /etc/p.yaml:3"
        #expect(host.events.map(\.kind) == [.forbidden(message: message, omitted: 0)])
        #expect(host.events.first?.uid == 1000 && host.events.first?.pid == 42)
        #expect(host.counter("forbidden") == 3)
        host.advance(.seconds(1))
        client.post("hr.pay")
        host.run()
        #expect(host.events.last?.kind == .forbidden(message: message, omitted: 2))
    }
}
