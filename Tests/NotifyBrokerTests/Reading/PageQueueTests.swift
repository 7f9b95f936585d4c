import Testing

@testable import NotifyBroker

struct PageQueueTests {
    private let readers = (0..<3).map { ReaderID(slot: $0, generation: 0) }

    @Test func `readers wait once each in order of arrival`() {
        var queue = PageQueue()
        for reader in [readers[1], readers[0], readers[1], readers[2]] { queue.append(reader) }
        let order = (0..<4).map { _ in queue.popFirst() }
        #expect(order == [readers[1], readers[0], readers[2], nil])
    }

    @Test func `a reader can wait again after its turn`() {
        var queue = PageQueue()
        queue.append(readers[0])
        queue.append(readers[1])
        let first = queue.popFirst()
        queue.append(readers[0])
        let rest = [queue.popFirst(), queue.popFirst()]
        #expect(first == readers[0])
        #expect(rest == [readers[1], readers[0]])
    }
}
