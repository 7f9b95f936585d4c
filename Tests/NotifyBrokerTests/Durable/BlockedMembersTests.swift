import Testing

@testable import NotifyBroker

struct BlockedMembersTests {
    private let connection = ConnectionID(index: 1, generation: 0)

    private func blocked(_ count: UInt32) -> BlockedMembers {
        var blocked = BlockedMembers()
        for number in 0..<count { blocked.add(MemberID(rawValue: number), on: connection) }
        return blocked
    }

    @Test func `a connection that has room takes a turn for each of its members, in order`() {
        var blocked = blocked(3)
        let isQueued = blocked.wake(connection)
        #expect(isQueued)
        for (number, isQueued) in [(0, true), (1, true), (2, false)] as [(UInt32, Bool)] {
            let turn = blocked.takeTurn(of: connection)
            #expect(turn.member == MemberID(rawValue: number) && turn.isQueued == isQueued)
        }
        let isQueuedAgain = blocked.wake(connection)
        #expect(!isQueuedAgain)
    }

    @Test func `a connection that runs out of room again loses its turn, and is queued once`() {
        var blocked = blocked(2)
        var wakes: [Bool] = []
        for number in 2...4 as ClosedRange<UInt32> {
            wakes.append(blocked.wake(connection))
            blocked.add(MemberID(rawValue: number), on: connection)
        }
        #expect(wakes == [true, false, false])
        let turn = blocked.takeTurn(of: connection)
        #expect(turn.member == nil && !turn.isQueued)
        let isQueued = blocked.wake(connection)
        #expect(isQueued)
        let next = blocked.takeTurn(of: connection).member
        #expect(next == MemberID(rawValue: 0))
    }

    @Test func `members that have ended are forgotten`() {
        var blocked = blocked(100)
        for number in 0..<100 as Range<UInt32> {
            blocked.ended(on: connection) { $0.rawValue > number }
        }
        let isQueued = blocked.wake(connection)
        #expect(!isQueued)
    }
}
