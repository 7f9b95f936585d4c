/// The clock of the daemon's deadlines: the monotonic time without the time in which the daemon stood still.
///
/// A process stands still while it is stopped or frozen, while its machine is suspended, or while it gets no CPU.
/// Meanwhile clients cannot be served, and often stand still, too. Such a standstill therefore counts towards no
/// deadline. It is recognized when the clock is read later than the loop should have read it: at once while the loop
/// is awake, and otherwise at the time of its timer.
struct LoopClock {
    /// The longest wait of the loop while a deadline is pending, so that a standstill is recognized.
    static let maximumWait = Duration.milliseconds(500)
    /// A loop that reads the clock late by at most this counts as busy: it has not stood still.
    static let tolerance = Duration.milliseconds(250)

    /// The time in which the daemon stood still.
    private(set) var stoodStill = Duration.zero
    private var last: Duration?
    /// The time of the timer at which the loop will read the clock; nil if no timer is set.
    private var wakeUp: Duration?
    /// Whether the loop handles events, so that it will read the clock again without waiting.
    private var isAwake = false

    /// Must be called with the monotonic time whenever the time is needed. The loop then counts as awake until
    /// `waits(hasTimer:)`.
    ///
    /// - Returns: The time, and the duration of a standstill since the last reading.
    mutating func read(_ monotonic: Duration) -> (time: Duration, standstill: Duration) {
        var time = monotonic - stoodStill
        var standstill = Duration.zero
        if let last, let expected = isAwake ? last : wakeUp, time > max(last, expected) + Self.tolerance {
            standstill = time - last
            stoodStill += standstill
            time = last
            // The timer, which follows the monotonic time, is due.
            wakeUp = wakeUp.map { min($0, time) }
        }
        isAwake = true
        last = time
        return (time, standstill)
    }

    /// Records that a timer of the loop will read the clock at `time`.
    mutating func wakesUp(at time: Duration) {
        let isDue = if let last, let wakeUp { wakeUp <= last } else { false }
        wakeUp = isDue ? time : min(wakeUp ?? time, time)
    }

    /// Records that the loop has handled its events, so that it may wait: until its timer if it has one, and otherwise
    /// without limit.
    mutating func waits(hasTimer: Bool) {
        isAwake = false
        if !hasTimer { wakeUp = nil }
    }
}
