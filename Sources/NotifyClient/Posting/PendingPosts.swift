import DequeModule

/// Posts that wait for a connection, for room in the daemon's window, or for room in the write buffer; and how much of the
/// window is taken. First come, first sent.
struct PendingPosts {
    struct Waiting {
        var message: NotifyClient.OutgoingMessage
        var waiter: PostWaiter
        /// Set while there is no connection.
        var deadline: Duration?
    }

    /// Places in the request table that posts may stretch over: one unanswered request must not make it grow for ever.
    static let maximumSpan = 65_536

    private(set) var waiting: Deque<Waiting> = []
    /// Sent, and waiting for a receipt.
    var inFlight = 0
    /// The daemon's, from its welcome.
    var window = 1

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ message: NotifyClient.OutgoingMessage, _ waiter: PostWaiter, deadline: Duration?) {
        waiting.append(Waiting(message: message, waiter: waiter, deadline: deadline))
    }

    mutating func popFirst() -> Waiting? {
        waiting.popFirst()
    }

    /// Whether the first one needs a place in the window.
    var firstWantsReceipt: Bool { waiting.first?.waiter.wantsReceipt ?? false }

    /// The connection is gone: what waits is given until `deadline`, and `unprocessed`, which the daemon certainly did not
    /// carry out, is put back in front.
    mutating func connectionLost(
        unprocessed: [(message: NotifyClient.OutgoingMessage, waiter: PostWaiter)], deadline: Duration
    ) {
        inFlight = 0
        for index in waiting.indices where waiting[index].deadline == nil {
            waiting[index].deadline = deadline
        }
        for (message, waiter) in unprocessed.reversed() {
            waiting.prepend(Waiting(message: message, waiter: waiter, deadline: deadline))
        }
    }

    /// There is a connection again: nothing that waits has to hurry.
    mutating func connected() {
        for index in waiting.indices { waiting[index].deadline = nil }
    }

    /// The earliest moment at which something waits too long.
    var nextDeadline: Duration? {
        // Deadlines rise along the queue: all are set together when the connection goes, and later ones are later.
        waiting.first?.deadline
    }

    /// Takes out what has waited too long.
    mutating func expire(now: Duration) -> [PostWaiter] {
        var expired: [PostWaiter] = []
        while let deadline = waiting.first?.deadline, deadline <= now, let first = waiting.popFirst() {
            expired.append(first.waiter)
        }
        return expired
    }

    /// Takes out what waits for the task behind `slot`; answers whether it was still waiting.
    mutating func cancel(_ slot: AnyObject) -> Bool {
        !takeOut { $0.waiter.isTask(slot) }.isEmpty
    }

    mutating func takeAll() -> [PostWaiter] {
        takeOut { _ in true }
    }

    private mutating func takeOut(where isMeant: (Waiting) -> Bool) -> [PostWaiter] {
        var taken: [PostWaiter] = []
        waiting.removeAll { entry in
            guard isMeant(entry) else { return false }
            taken.append(entry.waiter)
            return true
        }
        return taken
    }
}
