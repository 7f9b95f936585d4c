/// The times at which to extend the deadlines of messages that are being processed, for each attached subscription that
/// wants this.
///
/// At each third of the deadline, those of the messages are extended that were held at the third before. Until the
/// daemon has reported it, the shortest one is assumed.
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

    /// A subscription was attached.
    mutating func attached(_ number: UInt32, now: Duration) {
        set(number, Self.initialInterval, now)
    }

    /// The daemon has reported the deadline of an attached subscription; nil if it refused to.
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

    /// A subscription is no longer attached.
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
