import Synchronization

/// The first of two events of `wait`: the arrival of its message, or the timeout. A message that arrives after the
/// timeout is not taken, so that it is neither printed nor acknowledged.
final class Arrival: Sendable {
    private enum State {
        case pending, arrived, timedOut
    }

    private let state = Mutex(State.pending)
    private let processed = Atomic(false)
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// Records that a message has arrived.
    ///
    /// - Returns: Whether to take the message; false after the timeout.
    func take() -> Bool {
        let isTaken = state.withLock { state in
            if state == .pending { state = .arrived }
            return state == .arrived
        }
        continuation.finish()
        return isTaken
    }

    /// Whether the message was printed completely, or its command has succeeded.
    var isProcessed: Bool { processed.load(ordering: .acquiring) }

    /// Records that the message was printed completely, or that its command has succeeded.
    func process() {
        processed.store(true, ordering: .releasing)
    }

    /// Records that the timeout has passed.
    ///
    /// - Returns: Whether no message has arrived before the timeout.
    func timeOut() -> Bool {
        state.withLock { state in
            if state == .pending { state = .timedOut }
            return state == .timedOut
        }
    }

    /// Waits at most `time` for the arrival. Returns early if the task is cancelled.
    func wait(atMost time: Duration) async {
        await stream.end(atMost: time)
    }
}

extension AsyncStream where Element == Never {
    /// Waits at most `time` for the end of the stream. Returns early if the task is cancelled.
    func end(atMost time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in self {} }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}
