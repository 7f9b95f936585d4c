/// Decides when to write the outgoing bytes, and batches small writes.
///
/// Each write wakes up both sides, so a stream of posts must not cause one write per post. The first bytes are written
/// at once. Later bytes are batched until bytes from the daemon arrive, 16 KiB are waiting, or 100 µs have passed since
/// the last write. So a single post never waits, and a stream of posts is batched.
struct FlushScheduler {
    enum Action: Equatable {
        case none
        case now
        case at(Duration)
    }

    private enum State {
        case idle
        /// A write is scheduled for the end of the interval.
        case atInterval
        /// A write is scheduled on the event loop, or follows when the channel becomes writable.
        case scheduled
    }

    static let interval = Duration.microseconds(100)
    static let thresholdBytes = 16 << 10

    private var state = State.idle
    private var lastFlush: Duration?
    private var hasReceived = true

    /// Must be called when bytes from the daemon have arrived.
    mutating func received() {
        hasReceived = true
    }

    /// Must be called when `bytes` bytes wait to be written.
    mutating func buffered(_ bytes: Int, now: @autoclosure () -> Duration) -> Action {
        switch state {
        case .scheduled: return .none
        case .atInterval:
            guard hasReceived || bytes >= Self.thresholdBytes else { return .none }
        case .idle:
            if !hasReceived, bytes < Self.thresholdBytes, let lastFlush {
                let moment = lastFlush + Self.interval
                if now() < moment {
                    state = .atInterval
                    return .at(moment)
                }
            }
        }
        state = .scheduled
        return .now
    }

    /// Must be called when all waiting bytes were taken to be written. `now` is nil if no bytes were waiting.
    mutating func flushed(now: Duration?) {
        state = .idle
        guard let now else { return }
        lastFlush = now
        hasReceived = false
    }

    /// Must be called when the channel is not writable.
    mutating func blocked() {
        state = .scheduled
    }
}
