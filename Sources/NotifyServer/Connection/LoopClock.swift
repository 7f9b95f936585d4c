/// The clock of the daemon's deadlines: the monotonic time without the time in which the daemon stood still.
///
/// A process stands still while it is stopped or frozen, while its machine is suspended, or while it gets no CPU.
/// Meanwhile clients cannot be served, and often stand still, too. Such a standstill therefore counts towards no
/// deadline. It is recognized when the clock is read later than the time at which the loop was to wake up.
struct LoopClock {
    /// The longest wait of the loop while a deadline is pending, so that a standstill is recognized.
    static let maximumWait = Duration.milliseconds(500)
    /// A loop that wakes up late by at most this counts as busy: it has not stood still.
    static let tolerance = Duration.milliseconds(250)

    /// The time in which the daemon stood still.
    private(set) var stoodStill = Duration.zero
    private var last: Duration?
    /// The time by which the loop will read the clock again; nil if it may wait for an event without limit.
    private var wakeUp: Duration?

    /// Must be called with the monotonic time whenever the time is needed.
    ///
    /// - Returns: The time, and the duration of a standstill since the last reading.
    mutating func read(_ monotonic: Duration) -> (time: Duration, standstill: Duration) {
        var time = monotonic - stoodStill
        var standstill = Duration.zero
        if let last, let wakeUp, time > max(last, wakeUp) + Self.tolerance {
            standstill = time - last
            stoodStill += standstill
            time = last
        }
        if let wakeUp, wakeUp <= time || standstill > .zero { self.wakeUp = nil }
        last = time
        return (time, standstill)
    }

    /// Records that a timer of the loop will read the clock at `time`.
    mutating func wakesUp(at time: Duration) { wakeUp = min(wakeUp ?? time, time) }
}
