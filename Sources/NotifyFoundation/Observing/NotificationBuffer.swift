import NotifyCenter

/// Notifications between posters and the readers of a sequence: a ring that grows up to its limit.
final class NotificationBuffer: Sendable {
    fileprivate struct State {
        var ring: ContiguousArray<PostedNotification?> = []
        var first = 0
        var count = 0
        var lostCount = 0
        var readers: [Reader] = []
        var lastReader: UInt64 = 0
    }

    fileprivate struct Reader {
        let id: UInt64
        /// Nil as long as the task has not suspended.
        var continuation: CheckedContinuation<PostedNotification?, Never>?
    }

    private let state = Lock(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var lostCount: Int { state.withLock { $0.lostCount } }

    func append(_ notification: PostedNotification) {
        let (reader, lost) = state.withLock { state in
            if let index = state.readers.firstIndex(where: { $0.continuation != nil }) {
                return (state.readers.remove(at: index).continuation, nil as PostedNotification?)
            }
            return (nil, state.append(notification, limit: limit))
        }
        // Not under the lock: it may be the last that held its object.
        withExtendedLifetime(lost) {}
        reader?.resume(returning: notification)
    }

    /// Waits for a notification. Nil if the task is cancelled.
    func next(isolation: isolated (any Actor)?) async -> PostedNotification? {
        let id = state.withLock { state in
            state.lastReader += 1
            state.readers.append(Reader(id: state.lastReader))
            return state.lastReader
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { continuation in
                let answer = state.withLock { $0.suspend(id, continuation) }
                if let answer { continuation.resume(returning: answer.notification) }
            }
        } onCancel: {
            state.withLock { $0.removeReader(id) }?.resume(returning: nil)
        }
    }
}

extension NotificationBuffer.State {
    /// What a reader need not wait for.
    struct Answer {
        var notification: PostedNotification?
    }

    /// Adds a notification. Hands back the oldest if there was no room.
    mutating func append(_ notification: PostedNotification, limit: Int) -> PostedNotification? {
        if count == ring.count && count < limit { grow(limit: limit) }
        var lost: PostedNotification?
        if count == ring.count {
            lost = takeFirst()
            lostCount += 1
        }
        ring[(first + count) % ring.count] = notification
        count += 1
        return lost
    }

    /// Keeps the continuation of a reader, or answers what it is to be resumed with.
    mutating func suspend(_ id: UInt64, _ continuation: CheckedContinuation<PostedNotification?, Never>) -> Answer? {
        // It is not there any more if the task was cancelled before it got here.
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return Answer() }
        if count > 0 {
            readers.remove(at: index)
            return Answer(notification: takeFirst())
        }
        readers[index].continuation = continuation
        return nil
    }

    mutating func removeReader(_ id: UInt64) -> CheckedContinuation<PostedNotification?, Never>? {
        guard let index = readers.firstIndex(where: { $0.id == id }) else { return nil }
        return readers.remove(at: index).continuation
    }

    private mutating func takeFirst() -> PostedNotification? {
        let notification = ring[first].take()
        first = (first + 1) % ring.count
        count -= 1
        return notification
    }

    private mutating func grow(limit: Int) {
        var larger: ContiguousArray<PostedNotification?> = []
        let capacity = min(max(ring.count * 2, 4), limit)
        larger.reserveCapacity(capacity)
        for offset in 0..<count { larger.append(ring[(first + offset) % ring.count]) }
        larger.append(contentsOf: repeatElement(nil, count: capacity - count))
        ring = larger
        first = 0
    }
}
