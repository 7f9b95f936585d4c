/// Decides when to write the outgoing bytes, batching small writes.
///
/// Each write wakes up both sides, so a stream of posts must not cause one write each. The first bytes are written at
/// once. Later ones gather until the daemon has sent something, 16 KiB are there, or 100 µs have passed since the last
/// write. So a single post never waits, and a stream of posts is batched.
struct FlushPacing {
    enum Action: Equatable {
        case none
        case now
        case at(Duration)
    }

    private enum Plan {
        case none
        /// A write is scheduled for the end of the interval.
        case later
        /// A write is scheduled on the event loop, or follows when the channel becomes writable.
        case soon
    }

    static let interval = Duration.microseconds(100)
    static let enoughBytes = 16 << 10

    private var plan = Plan.none
    private var lastFlush: Duration?
    private var hasReceived = true

    /// The daemon sent something.
    mutating func received() {
        hasReceived = true
    }

    /// A number of bytes is waiting to be written.
    mutating func gathered(_ bytes: Int, now: @autoclosure () -> Duration) -> Action {
        switch plan {
        case .soon: return .none
        case .later:
            guard hasReceived || bytes >= Self.enoughBytes else { return .none }
        case .none:
            if !hasReceived, bytes < Self.enoughBytes, let lastFlush {
                let moment = lastFlush + Self.interval
                if now() < moment {
                    plan = .later
                    return .at(moment)
                }
            }
        }
        plan = .soon
        return .now
    }

    /// All bytes were written at `now`; nil if there were none.
    mutating func flushed(now: Duration?) {
        plan = .none
        guard let now else { return }
        lastFlush = now
        hasReceived = false
    }

    /// The channel is not writable at present.
    mutating func held() {
        plan = .soon
    }
}
