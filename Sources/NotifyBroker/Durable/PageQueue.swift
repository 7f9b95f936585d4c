import DequeModule

/// Readers that wait for their turn to read a page, each once, in the order in which they came.
///
/// One page is read at a time, so that a commit waits for one at most, however many readers are behind.
struct PageQueue {
    private var order: Deque<Int> = []
    private var members: Set<Int> = []
    /// When the page that is being read was asked for.
    var started: Duration?

    mutating func append(_ reader: Int) {
        if members.insert(reader).inserted { order.append(reader) }
    }

    mutating func popFirst() -> Int? {
        guard let reader = order.popFirst() else { return nil }
        members.remove(reader)
        return reader
    }
}
