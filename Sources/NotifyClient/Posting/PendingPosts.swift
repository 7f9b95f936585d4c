import DequeModule

/// A FIFO of posts that wait for a connection, for room in the daemon's post window, or for room in the write buffer.
/// Also counts the posts in the window.
struct PendingPosts {
    struct Waiting {
        var message: NotificationClient.OutgoingMessage
        var waiter: PostWaiter
        /// The time at which the post fails with `notConnected`; nil while there is a connection.
        var deadline: Duration?
        /// The place in the order of all posts that have waited.
        var place: UInt64 = 0
    }

    private(set) var waiting: Deque<Waiting> = []
    /// The place of the next post that waits.
    private(set) var nextPlace: UInt64 = 0
    /// The number of posts that were sent and wait for a receipt.
    var inFlight = 0
    /// The daemon's post window, from its welcome.
    var window = 1

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ message: NotificationClient.OutgoingMessage, _ waiter: PostWaiter, deadline: Duration?) {
        waiting.append(Waiting(message: message, waiter: waiter, deadline: deadline, place: nextPlace))
        nextPlace += 1
    }

    mutating func popFirst() -> Waiting? {
        waiting.popFirst()
    }

    /// Whether the first waiting post needs room in the window.
    var firstWantsReceipt: Bool { waiting.first?.waiter.wantsReceipt ?? false }

    /// Must be called when the connection was lost. Sets `deadline` for the waiting posts. The `unprocessed` posts,
    /// which were sent but certainly not processed by the daemon, return to the front.
    mutating func connectionLost(
        unprocessed: [(message: NotificationClient.OutgoingMessage, waiter: PostWaiter)], deadline: Duration
    ) {
        inFlight = 0
        for index in waiting.indices where waiting[index].deadline == nil {
            waiting[index].deadline = deadline
        }
        for (message, waiter) in unprocessed.reversed() {
            waiting.prepend(Waiting(message: message, waiter: waiter, deadline: deadline))
        }
    }

    /// Must be called when the client has connected. Removes the deadlines.
    mutating func connected() {
        for index in waiting.indices { waiting[index].deadline = nil }
    }

    /// The earliest deadline.
    var nextDeadline: Duration? {
        // Deadlines ascend along the queue: the loss of the connection sets one deadline for all posts, and later posts
        // get later deadlines.
        waiting.first?.deadline
    }

    /// Removes the posts whose deadline has passed, and returns their waiters.
    mutating func expire(now: Duration) -> [PostWaiter] {
        var expired: [PostWaiter] = []
        while let deadline = waiting.first?.deadline, deadline <= now, let first = waiting.popFirst() {
            expired.append(first.waiter)
        }
        return expired
    }

    /// Removes the posts with a lower place, unless they have a time limit of their own, and returns their waiters.
    mutating func expire(before place: UInt64) -> [PostWaiter] {
        takeAll { $0.place < place && $0.waiter.timeout == nil }
    }

    /// Removes the posts of a pipeline before an index, and returns their waiters.
    mutating func expire(of buffer: PipelineBuffer, before end: UInt64) -> [PostWaiter] {
        takeAll { $0.waiter.isPost(of: buffer, before: end) }
    }

    /// Removes the post of a cancelled task, identified by its slot.
    ///
    /// - Returns: Whether the post was still waiting, and so was not sent.
    mutating func cancel(_ slot: AnyObject) -> Bool {
        !takeAll { $0.waiter.isTask(slot) }.isEmpty
    }

    /// Removes the posts of services that are shut down, and returns their waiters.
    mutating func takeShutDown() -> [PostWaiter] {
        takeAll { $0.waiter.isShutDown }
    }

    mutating func takeAll() -> [PostWaiter] {
        takeAll { _ in true }
    }

    private mutating func takeAll(where isIncluded: (Waiting) -> Bool) -> [PostWaiter] {
        var taken: [PostWaiter] = []
        waiting.removeAll { entry in
            guard isIncluded(entry) else { return false }
            taken.append(entry.waiter)
            return true
        }
        return taken
    }
}
