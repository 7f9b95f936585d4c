/// The times at which to extend the deadlines of messages that are being processed, for each attached subscription with
/// handlers.
///
/// Deadlines are checked at each third of their length: a message that was already held at the previous check is
/// extended. Until the daemon has reported the deadline of a subscription, the shortest possible deadline is assumed.
struct DeadlineExtender {
    static let initialInterval = Duration.milliseconds(33)
    /// The interval if the daemon refuses to report the deadline.
    static let fallbackInterval = Duration.seconds(1)

    private struct Timer {
        var interval: Duration
        var next: Duration
        /// Whether the daemon has reported the deadline.
        var isKnown = false
    }

    private var timers: [UInt32: Timer] = [:]

    /// The time at which to call `timeReached`; nil for never.
    var nextDeadline: Duration? { timers.isEmpty ? nil : timers.values.map(\.next).min() }

    /// Must be called when a subscription was attached.
    mutating func attached(_ number: UInt32, now: Duration) {
        set(number, Self.initialInterval, now)
    }

    /// Must be called when the daemon has reported the deadline of an attached subscription, or with nil if it has
    /// refused to.
    mutating func deadlineReported(_ number: UInt32, _ deadline: Duration?, now: Duration) {
        guard timers[number] != nil else { return }
        guard deadline != .zero else {
            timers[number] = nil
            return
        }
        set(number, deadline.map { max($0 / 3, Self.initialInterval) } ?? Self.fallbackInterval, now)
        timers[number]?.isKnown = deadline != nil
    }

    private mutating func set(_ number: UInt32, _ interval: Duration, _ now: Duration) {
        timers[number] = Timer(interval: interval, next: now + interval)
    }

    /// Whether the daemon has reported the deadline of an attached subscription.
    func isKnown(_ number: UInt32) -> Bool { timers[number]?.isKnown ?? false }

    /// Must be called when a subscription is no longer attached.
    mutating func remove(_ number: UInt32) {
        timers[number] = nil
    }

    /// - Returns: The subscriptions whose deadlines are to be extended now.
    mutating func timeReached(_ now: Duration) -> [UInt32] {
        let due = timers.filter { $0.value.next <= now }.keys.sorted()
        for number in due {
            if let timer = timers[number] { timers[number]?.next = now + timer.interval }
        }
        return due
    }
}
