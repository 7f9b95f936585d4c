import Testing

@testable import NotifyBroker

struct UserQueueTests {
    private func id(_ slot: Int32) -> ConnectionID { ConnectionID(slot: ConnectionSlot(slot), generation: 0) }

    @Test func `users take turns, and so do the connections of a user`() {
        var queue = UserQueue<ConnectionID>()
        for slot in 1...3 { queue.append(id(Int32(slot)), of: 100) }
        queue.append(id(10), of: 200)
        queue.append(id(11), of: 200)
        #expect((0..<6).map { _ in queue.next() } == [id(1), id(10), id(2), id(11), id(3), nil])
        #expect(queue.isEmpty)
    }

    @Test func `users that leave and join the queue take turns`() {
        var queue = UserQueue<ConnectionID>()
        queue.append(id(1), of: 100)
        queue.append(id(20), of: 200)
        queue.append(id(21), of: 200)
        queue.append(id(30), of: 300)
        #expect((0..<3).map { _ in queue.next() } == [id(1), id(20), id(30)])
        queue.append(id(40), of: 400)
        queue.append(id(2), of: 100)
        // A new user is the last one of the round.
        #expect((0..<3).map { _ in queue.next() } == [id(40), id(2), id(21)])
        #expect(queue.isEmpty && queue.next() == nil)
        queue.append(id(31), of: 300)
        #expect(queue.next() == id(31) && queue.isEmpty)
    }

    @Test func `the first element is the one that is taken next`() {
        var queue = UserQueue<ConnectionID>()
        #expect(queue.first() == nil)
        for (slot, uid) in [(1, 100), (20, 200), (30, 300)] as [(Int32, UInt32)] { queue.append(id(slot), of: uid) }
        #expect(queue.next() == id(1))
        queue.append(id(2), of: 100)
        #expect(queue.remove(of: 200) { $0 == id(20) } == [id(20)])
        for _ in 0..<2 { #expect(queue.first() == queue.next()) }
        #expect(queue.isEmpty && queue.first() == nil)
    }

    @Test func `elements of a user are removed`() {
        var queue = UserQueue<ConnectionID>()
        for slot in 1...3 { queue.append(id(Int32(slot)), of: 100) }
        queue.append(id(10), of: 200)
        #expect(queue.remove(of: 300) { _ in true } == [])
        #expect(queue.remove(of: 100) { $0 != id(2) } == [id(1), id(3)])
        #expect(queue.count == 2 && Array(queue.all) == [id(2), id(10)])
        #expect(queue.contains(of: 100) { $0 == id(2) } && !queue.contains(of: 200) { $0 == id(2) })
        #expect(queue.removeAll() == [id(2), id(10)] && queue.isEmpty)
    }
}
