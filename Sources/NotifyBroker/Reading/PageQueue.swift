import DequeModule

/// A FIFO of log readers that wait for a page. Contains each reader at most once.
struct PageQueue {
    private var order: Deque<ReaderID> = []
    private var members: Set<ReaderID> = []

    var isEmpty: Bool { order.isEmpty }

    mutating func append(_ reader: ReaderID) {
        if members.insert(reader).inserted { order.append(reader) }
    }

    mutating func popFirst() -> ReaderID? {
        guard let reader = order.popFirst() else { return nil }
        members.remove(reader)
        return reader
    }
}
