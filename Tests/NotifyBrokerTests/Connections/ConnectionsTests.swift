import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct ConnectionsTests {
    private func open(_ connections: inout Connections, deadline: Duration = .seconds(10)) -> ConnectionID {
        connections.open(Peer(uid: 1, gid: 2, pid: 3), identity: .test, greetingDeadline: deadline)
    }

    @Test func `a connection without a greeting expires at its deadline`() {
        var connections = Connections()
        let (late, greeted) = (open(&connections), open(&connections))
        connections.greeted(greeted.slot, by: Hello(instance: .one))
        #expect(connections.nextDeadline == .seconds(10))
        #expect(connections.takeExpired(now: .seconds(9)) == [])
        #expect(connections.takeExpired(now: .seconds(10)) == [late.slot])
        connections.remove(late.slot)
        #expect(connections.nextDeadline == nil)
    }

    @Test func `the earliest deadline is correct after earlier ones have passed`() {
        var connections = Connections()
        let (first, second) = (open(&connections, deadline: .seconds(1)), open(&connections, deadline: .seconds(5)))
        #expect(connections.takeExpired(now: .seconds(2)) == [first.slot])
        connections.remove(first.slot)
        #expect(connections.nextDeadline == .seconds(5))
        connections.failed(second.slot, closingDeadline: .seconds(3))
        #expect(connections.nextDeadline == .seconds(3))
        #expect(connections[second.slot].session.isClosing)
    }

    @Test func `reading pauses at the first reason and resumes after the last`() {
        var connections = Connections()
        let slot = open(&connections).slot
        #expect(connections.pause(slot, .logBehind) == true)
        #expect(connections.pause(slot, .answersUnread) == false)
        #expect(connections.resume(slot, .logBehind) == false)
        #expect(connections.resume(slot, .logBehind) == false, "twice")
        #expect(connections.resume(slot, .answersUnread) == true)
    }

    @Test func `request numbers must increase`() throws {
        var connections = Connections()
        let slot = open(&connections).slot
        try connections.requestReceived(3, from: slot)
        #expect(throws: WireError.self) { try connections.requestReceived(3, from: slot) }
        try connections.requestReceived(4, from: slot)
    }

    @Test func `draining reaches every session`() {
        var connections = Connections()
        let slot = open(&connections).slot
        connections.greeted(slot, by: Hello(instance: .one))
        connections.drainBegan()
        #expect(connections.drain == .committing && connections[slot].session.state == .draining)
        connections.drainFinished()
        #expect(connections.drain == .done)
    }
}
