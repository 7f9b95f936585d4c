/// Decides when the next tick runs: before the event loop polls for events again, or after that poll.
///
/// The loop runs all due tasks, including those added meanwhile, before it polls. Each answer of the store causes a
/// tick. If every tick took longer than the store needs for an answer, these ticks would keep the loop from polling,
/// and nothing would be read from clients.
struct TickSchedule {
    enum Request {
        case beforePoll, afterPoll
    }

    /// The number of ticks per event that run before the next poll: one for the event, and one for an answer of the
    /// store.
    private static let ticksPerEvent = 2

    private var isScheduled = false
    private var isWakeUpRequested = false
    /// The number of scheduled ticks since the last event. Events are all that the poll reports about a connection,
    /// such as received bytes or its end, and the wake-up after a requested poll.
    private var ticksSinceEvent = 0
    /// Whether a tick runs now. Events during a tick are its consequences, and do not count.
    var isTicking = false

    mutating func eventReceived() {
        if !isTicking { ticksSinceEvent = 0 }
    }

    /// Requests a tick: before the next poll, or after it if enough ticks have run since the last event.
    ///
    /// - Returns: The tick that the caller must schedule; nil if a tick is scheduled already.
    mutating func request() -> Request? {
        guard !isScheduled else { return nil }
        guard ticksSinceEvent < Self.ticksPerEvent else { return requestAfterPoll() }
        isScheduled = true
        return .beforePoll
    }

    /// Requests a tick after the next poll.
    ///
    /// - Returns: The tick that the caller must schedule; nil if a tick is scheduled already.
    mutating func requestAfterPoll() -> Request? {
        guard !isScheduled, !isWakeUpRequested else { return nil }
        isWakeUpRequested = true
        return .afterPoll
    }

    /// Must be called after the poll that follows a request `.afterPoll`.
    mutating func wokenUp() { isWakeUpRequested = false }

    mutating func scheduledTickBegan() {
        isScheduled = false
        ticksSinceEvent += 1
    }
}
