/// A pure state machine that selects the notifications an observer is called with, and the times of the calls. It reads
/// no clock: times are arguments, measured from a fixed start.
///
/// The caller has one timer, and starts the timer on ``Arrival/startTimer``. The timer calls ``timerIsDue(at:)``
/// repeatedly until the result is ``TimerStep/stop``.
struct RateLimitState: Sendable {
    enum Rule: Sendable {
        /// Delivers the last notification, once none has arrived for this time.
        case debounced(Duration)
        /// Delivers one notification at once, and then one per interval: the first or the latest of the interval.
        case throttled(Duration, latest: Bool)

        /// The rule with an interval of at most 100 years, because Swift's clocks trap at times beyond 292 years.
        var bounded: Rule {
            let longest = Duration.seconds(100 * 365 * 86_400)
            return switch self {
            case .debounced(let interval): .debounced(min(interval, longest))
            case .throttled(let interval, let latest): .throttled(min(interval, longest), latest: latest)
            }
        }
    }

    /// The action for a notification that has arrived.
    enum Arrival {
        /// Call the observer.
        case deliver
        /// Do nothing. The notification is pending or was dropped.
        case nothing
        /// Start the timer. The notification is pending.
        case startTimer
    }

    /// The action of the timer before it calls ``timerIsDue(at:)`` again.
    enum TimerStep {
        case sleep(until: Duration)
        case deliver(LocalNotification)
        case stop
    }

    private enum Timer {
        case stopped
        case sleeping
        case calling
    }

    private let rule: Rule
    private var pending: LocalNotification?
    /// The time from which the observer may be called.
    private var due = Duration.zero
    private var timer = Timer.stopped
    private var isClosed = false

    init(_ rule: Rule) {
        self.rule = rule
    }
}

// MARK: - Events

extension RateLimitState {
    /// Records that a notification has arrived.
    ///
    /// - Returns: The action, and the replaced pending notification, to be released outside the lock.
    mutating func arrived(
        _ notification: LocalNotification, at now: Duration
    ) -> (Arrival, dropped: LocalNotification?) {
        if isClosed { return (.nothing, nil) }
        let dropped = pending
        switch rule {
        case .debounced(let interval):
            pending = notification
            // Threads may get here in a different order than they read the clock.
            due = max(due, now + interval)
        case .throttled(let interval, let latest):
            if timer == .stopped && now >= due || interval <= .zero {
                pending = nil
                due = now + interval
                return (.deliver, dropped)
            }
            if !latest && pending != nil { return (.nothing, nil) }
            pending = notification
        }
        if timer != .stopped { return (.nothing, dropped) }
        timer = .sleeping
        return (.startTimer, dropped)
    }

    /// Returns the next step of the timer. Must be called when the timer starts, and after each of its steps.
    mutating func timerIsDue(at now: Duration) -> TimerStep {
        guard !isClosed, let notification = pending.take() else {
            timer = .stopped
            return .stop
        }
        if now < due {
            pending = notification
            timer = .sleeping
            return .sleep(until: due)
        }
        // Later notifications stay pending until the call ends, so that calls do not overtake each other.
        timer = .calling
        if case .throttled(let interval, _) = rule { due = now + interval }
        return .deliver(notification)
    }

    /// Records that the clock threw an error. A pending notification waits until the next notification starts the timer
    /// again.
    mutating func timerFailed() {
        timer = .stopped
    }

    /// Ends the rate limit, because the observation has ended.
    ///
    /// - Returns: Whether the timer sleeps and must be cancelled, and the dropped notification.
    mutating func close() -> (isTimerSleeping: Bool, dropped: LocalNotification?) {
        isClosed = true
        return (timer == .sleeping, pending.take())
    }
}
