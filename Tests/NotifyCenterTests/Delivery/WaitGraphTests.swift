import Testing

@testable import NotifyCenter

@Suite struct WaitGraphTests {
    private let graph = WaitGraph()
    private let queues = (0..<4).map { _ in
        SequenceMailbox<Int>(.wait(limit: 1), isOnce: false)
    }

    private func add(_ from: Int, _ to: Int) -> Bool { graph.add(from: queues[from], to: queues[to]) }
    private func remove(_ from: Int, _ to: Int) { graph.remove(from: queues[from], to: queues[to]) }

    @Test func `a node can't wait for itself`() {
        #expect(!add(0, 0))
        #expect(graph.isEmpty)
    }

    @Test func `a cycle of waits is refused`() {
        #expect(add(0, 1))
        #expect(add(1, 2))
        #expect(add(0, 3))
        #expect(add(3, 2))
        #expect(!add(2, 0))
        #expect(!add(1, 0))
        remove(0, 1)
        #expect(!add(2, 0))
        remove(0, 3)
        #expect(add(2, 0))
        #expect(!add(0, 1))
    }

    @Test func `a wait added twice must be removed twice`() {
        #expect(add(0, 1))
        #expect(add(0, 1))
        remove(0, 1)
        #expect(!add(1, 0))
        remove(0, 1)
        #expect(add(1, 0))
        remove(1, 0)
        remove(1, 0)
        #expect(graph.isEmpty)
    }
}
