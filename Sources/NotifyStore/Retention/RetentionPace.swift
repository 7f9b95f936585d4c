import NotifyLog

/// Decides when a pass of retention begins. The work of passes is small compared with the growth of the log, and takes
/// only a small part of the time. An idle log needs no pass until a message becomes too old or a subscription expires.
struct RetentionPace {
    /// The time between two passes is at least this multiple of the time that the earlier one took, unless the next one
    /// is requested.
    private static let restFactor = 32
    /// Growth requests a pass once two bounds are exceeded. The number of added messages must exceed the number of
    /// entries that the last pass examined, divided by this.
    private static let entriesPerMessage = 4
    /// The number of added segments must exceed the number of segments that the last pass examined, divided by this.
    private static let growthDivisor = 64

    /// Whether the next pass is due at once.
    private(set) var isRequested = false
    /// Whether something has changed since the last pass began.
    private var hasChanged = true
    /// The earliest time of the next pass, unless a pass is requested.
    private var earliest = Duration.zero
    /// The time at which the next message becomes too old or the next subscription expires; nil for never.
    private var deadline: Duration?
    private var examined = (segments: 0, entries: 0)
    private var added = (segments: 0, messages: 0)
    private var spent = Duration.zero

    func isDue(_ now: Duration) -> Bool {
        isRequested || (now >= earliest && (hasChanged || deadline.map { now >= $0 } ?? false))
    }

    mutating func request() { isRequested = true }

    /// Notes that subscriptions have changed.
    mutating func changed() { hasChanged = true }

    /// Notes a closed segment. Requests a pass if the log has grown enough since the last one.
    mutating func closed(messages: Int) {
        hasChanged = true
        added.segments += 1
        added.messages += messages
        if added.segments > examined.segments / Self.growthDivisor,
            added.messages > examined.entries / Self.entriesPerMessage
        {
            isRequested = true
        }
    }

    mutating func began() {
        isRequested = false
        hasChanged = false
        examined = (0, 0)
        added = (0, 0)
        spent = .zero
    }

    /// Notes that the pass has examined a segment.
    mutating func examined(entries: Int) {
        examined.segments += 1
        examined.entries += entries
    }

    /// Notes that the pass has worked for some time.
    mutating func worked(_ time: Duration) { spent += time }

    /// - Parameters:
    ///   - interval: The shortest time until the next pass.
    ///   - deadline: The time at which a pass finds more to do, although nothing has changed; nil for never.
    mutating func ended(at now: Duration, interval: Duration, deadline: Duration?) {
        earliest = now + max(interval, spent * Self.restFactor)
        self.deadline = deadline
    }

    /// Notes that the pass has failed and must be repeated.
    mutating func failed(at now: Duration, interval: Duration) {
        hasChanged = true
        earliest = now + interval
    }
}
