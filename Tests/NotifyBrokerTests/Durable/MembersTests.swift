import NotifyWire
import TestSupport
import Testing

@testable import NotifyBroker

@Suite struct MembersTests {
    private func connection(_ number: UInt32) -> ConnectionID { ConnectionID(index: Int(number % 10), generation: 0) }

    private func attachment(_ number: UInt32, window: Int) -> NotifyBroker.Attachment {
        NotifyBroker.Attachment(
            connection: connection(number), number: number, instance: .one,
            identity: .test,
            pid: number, request: UInt64(number), isResumed: true, window: window, requestedMicroseconds: 0)
    }

    private func add(_ members: inout Members, _ number: UInt32, window: Int, credit: UInt32 = .max) -> Int {
        let index = members.add(attachment(number, window: window), credit: credit)
        members.update(index) { $0.committed() }
        return index
    }

    /// Delivers messages to candidates until none has room, and returns the pids in order.
    private func deliver(_ members: inout Members, atMost count: Int = 1_000) -> [UInt32] {
        var pids: [UInt32] = []
        while pids.count < count, let index = members.candidate() {
            pids.append(members[index]?.attachment.pid ?? 0)
            members.delivered(through: UInt64(pids.count), to: index)
        }
        return pids
    }

    @Test func `members take turns, in longer runs if they have more in flight`() {
        var members = Members()
        for number in 1...3 as ClosedRange<UInt32> { _ = add(&members, number, window: 100) }
        let pids = deliver(&members)
        #expect(pids.prefix(6) == [1, 2, 3, 1, 2, 3])
        var (longest, run) = (1, 1)
        for (pid, next) in zip(pids, pids.dropFirst()) {
            run = pid == next ? run + 1 : 1
            longest = max(longest, run)
        }
        #expect(pids.count == 300 && longest == 32)
    }

    @Test func `a member gets nothing before its attachment is committed`() {
        var members = Members()
        let index = members.add(attachment(1, window: 4), credit: .max)
        #expect(members.candidate() == nil && members.room == 0)
        members.update(index) { $0.committed() }
        #expect(members.candidate() == index && members.room == 4)
    }

    @Test func `a member whose connection is full is left out until the connection has room`() {
        var members = Members()
        let first = add(&members, 1, window: 4)
        let second = add(&members, 2, window: 4)
        #expect(members.candidate() == first)
        members.blockCandidate()
        #expect(members.candidate() == second)
        members.blockCandidate()
        #expect(members.candidate() == nil)
        members.wake(connection(1))
        #expect(members.candidate() == first)
    }

    @Test func `members whose connection has room again take turns with other members`() {
        var members = Members()
        for number in [1, 11, 21, 31] as [UInt32] { _ = add(&members, number, window: 1) }
        for _ in 1...4 {
            #expect(members.candidate() != nil)
            members.blockCandidate()
        }
        #expect(members.candidate() == nil)
        for number in [2, 3, 4] as [UInt32] { _ = add(&members, number, window: 1) }
        members.wake(connection(1))
        members.wake(connection(1))
        #expect(deliver(&members) == [2, 3, 4, 1, 11, 21, 31])
    }

    @Test func `new members in the slots of blocked members that have ended are not blocked`() {
        var members = Members()
        let indices = [1, 11, 21, 31].map { add(&members, $0, window: 1) }
        for _ in indices {
            _ = members.candidate()
            members.blockCandidate()
        }
        for index in indices.dropLast() { _ = members.remove(index) }
        for number in [2, 41] as [UInt32] { _ = add(&members, number, window: 1) }
        #expect(deliver(&members) == [2, 41])
        members.wake(connection(1))
        #expect(deliver(&members) == [31])
    }

    @Test func `a stalled member gets messages only if all are stalled`() {
        var members = Members()
        let first = add(&members, 1, window: 4)
        let second = add(&members, 2, window: 2)
        members.update(first) { $0.stalled() }
        #expect(members.room == 2 && deliver(&members) == [2, 2])
        members.update(second) { $0.stalled() }
        #expect(members.room == 4 && deliver(&members) == [1, 1, 1, 1])
        members.update(second) { member in
            member.answered()
            member.acknowledged(2)
        }
        #expect(members.room == 2 && deliver(&members) == [2, 2])
        _ = members.remove(second)
        members.update(first) { $0.acknowledged(1) }
        #expect(members.room == 1 && deliver(&members) == [1])
    }

    @Test func `a member that joins gets the next turn`() {
        var members = Members()
        _ = add(&members, 1, window: 100)
        #expect(Set(deliver(&members, atMost: 50)) == [1])
        _ = add(&members, 2, window: 100)
        #expect(deliver(&members, atMost: 1) == [2])
    }

    @Test func `after random operations the sums are right, and the candidate is an eligible member`() {
        let seed = UInt64.random(in: 0 ... .max)
        print("MembersTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            var members = Members()
            var indices: [Int] = []
            var full: Set<ConnectionID> = []
            for step in 0..<400 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0 where indices.count < 6:
                    indices.append(
                        add(
                            &members, UInt32(step * 7), window: .random(in: 1...5, using: &random),
                            credit: Bool.random(using: &random) ? .max : .random(in: 0...9, using: &random)))
                case 1 where !indices.isEmpty:
                    _ = members.remove(indices.remove(at: .random(in: indices.indices, using: &random)))
                case 2 where !indices.isEmpty:
                    members.update(indices.randomElement(using: &random) ?? 0) { member in
                        member.acknowledged(member.unacknowledged)
                        member.answered()
                    }
                case 3 where !indices.isEmpty:
                    members.update(indices.randomElement(using: &random) ?? 0) { $0.stalled() }
                case 4 where !indices.isEmpty:
                    members.update(indices.randomElement(using: &random) ?? 0) { $0.creditAdded(3) }
                case 5:
                    if let index = indices.randomElement(using: &random), let member = members[index] {
                        full.insert(member.attachment.connection)
                    }
                case 6:
                    for connection in full where Bool.random(using: &random) {
                        full.remove(connection)
                        members.wake(connection)
                    }
                default:
                    let eligible = Self.eligible(members, full)
                    let index = Self.next(&members, full)
                    #expect((index == nil) == eligible.isEmpty, "seed \(seed)")
                    if let index {
                        #expect(eligible.contains(members[index]?.id ?? MemberID(rawValue: .max)))
                        members.delivered(through: UInt64(step), to: index)
                    }
                }
                #expect(
                    members.room
                        == Self.eligible(members, []).reduce(0) { sum, id in
                            sum + (members.all.first { $0.id == id }?.room ?? 0)
                        }, "seed \(seed)")
                #expect(members.unacknowledged == members.all.reduce(0) { $0 + $1.unacknowledged })
                #expect(members.window == members.all.reduce(0) { $0 + $1.attachment.window })
                #expect(members.count == indices.count)
            }
        }
    }

    /// The next member whose connection has room.
    private static func next(_ members: inout Members, _ full: Set<ConnectionID>) -> Int? {
        while let index = members.candidate() {
            guard let member = members[index], full.contains(member.attachment.connection) else { return index }
            members.blockCandidate()
        }
        return nil
    }

    /// The members with room that may get a message.
    private static func eligible(_ members: Members, _ full: Set<ConnectionID>) -> Set<MemberID> {
        let areAllStalled = members.all.allSatisfy { $0.isStalled }
        let eligible = members.all.filter { member in
            member.room > 0 && (areAllStalled || !member.isStalled)
                && !full.contains(member.attachment.connection)
        }
        return Set(eligible.map(\.id))
    }
}
