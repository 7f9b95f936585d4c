import DequeModule
import NotifyLog

/// A FIFO of readers that wait for a page. Contains each reader at most once.
///
/// One page is read at a time, so that a commit waits for one page at most, however many readers are behind.
struct PageQueue {
    private var order: Deque<ReaderID> = []
    private var members: Set<ReaderID> = []
    /// The time at which the page that is being read was requested; nil if no page is being read.
    var started: Duration?

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
