/// When to write out what has gathered.
///
/// Each write costs both sides a wake-up, so a program that posts one message after another must not cause one for each.
/// What comes first is written at once. What follows gathers until the daemon has said something, enough is there, or a
/// short time is over; so a lone post never waits, and a stream of them is written in pieces.
struct FlushPacing {
    enum Action: Equatable {
        case none
        case now
        case at(Duration)
    }

    private enum Plan {
        case none
        /// After the time that lets more gather.
        case later
        /// The event loop has been asked to, or the channel must become writable first.
        case soon
    }

    static let interval = Duration.microseconds(100)
    static let enoughBytes = 16 << 10

    private var plan = Plan.none
    private var lastFlush: Duration?
    private var hasReceived = true

    /// The daemon said something.
    mutating func received() {
        hasReceived = true
    }

    /// There is something to write; so many bytes of it.
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

    /// What was there is written; nil where there was nothing.
    mutating func flushed(now: Duration?) {
        plan = .none
        guard let now else { return }
        lastFlush = now
        hasReceived = false
    }

    /// The channel does not take more at present.
    mutating func held() {
        plan = .soon
    }
}
