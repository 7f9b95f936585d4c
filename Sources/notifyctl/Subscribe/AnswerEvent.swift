import Synchronization

/// An answer of the daemon, such as the confirmation of a subscription, as an event to wait for.
final class AnswerEvent: Sendable {
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation
    private let finished = Mutex<ContinuousClock.Instant?>(nil)

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The time of the event; nil before the event.
    var time: ContinuousClock.Instant? { finished.withLock { $0 } }
    var isFinished: Bool { time != nil }

    func finish() {
        finished.withLock { $0 = .now }
        continuation.finish()
    }

    /// Waits at most `time` for the event. Returns early if the task is cancelled.
    func wait(atMost time: Duration) async {
        guard time > .zero else { return }
        await stream.end(atMost: time)
    }
}
