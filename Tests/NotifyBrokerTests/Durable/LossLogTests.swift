import NotifyLog
import Testing

@testable import NotifyBroker

@Suite struct LossLogTests {
    @Test func `losses of a subscription are logged once a minute`() {
        var log = LossLog()
        let times: [Duration] = [.seconds(1), .seconds(2), .seconds(60), .seconds(61), .seconds(62)]
        let logged = times.map { log.logs(DurableID(1), now: $0) }
        #expect(logged == [true, false, false, true, false])
        log.removed(DurableID(1))
        let isLogged = log.logs(DurableID(1), now: .seconds(63))
        #expect(isLogged)
    }

    @Test func `losses of ten subscriptions are logged in a second`() {
        var log = LossLog()
        let logged = (UInt32(1)...100).filter { log.logs(DurableID($0), now: .seconds(1)) }
        #expect(logged.count == 10)
        let isLogged = log.logs(DurableID(50), now: .seconds(2))
        #expect(isLogged, "a subscription that was not logged is logged later")
    }

    @Test func `messages deleted to make room are logged once a minute`() {
        var log = LossLog()
        let times: [Duration] = [.seconds(1), .seconds(60), .seconds(61)]
        let logged = times.map { log.logsRoom(now: $0) }
        #expect(logged == [true, false, true])
    }
}
