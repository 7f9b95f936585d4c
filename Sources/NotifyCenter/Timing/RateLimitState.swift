/// Which of the notifications that come for an observer it is called with, and when. Reads no clock and calls nobody: times
/// come in as what has passed since some beginning.
///
/// Whoever holds it has one timer, which it is told to start, and which then asks ``timerIsDue(at:)`` what to do until
/// there is nothing left.
struct RateLimitState: Sendable {
    enum Rule: Sendable {
        /// The last one, when nothing has come for so long.
        case debounced(Duration)
        /// One at once, and then one in each interval: the first or the latest that came in it.
        case throttled(Duration, latest: Bool)

        /// The same rule with an interval that every clock can add to its time: Swift's stop the program beyond 292 years.
        var bounded: Rule {
            let longest = Duration.seconds(100 * 365 * 86_400)
            return switch self {
            case .debounced(let interval): .debounced(min(interval, longest))
            case .throttled(let interval, let latest): .throttled(min(interval, longest), latest: latest)
            }
        }
    }

    /// What to do with a notification that has come.
    enum Arrival {
        /// Call the observer with it.
        case deliver
        /// It is kept, or not needed.
        case nothing
        /// It is kept, and the timer has to run.
        case startTimer
    }

    /// What the timer is to do. It asks again afterwards.
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
    /// From when on the observer may be called.
    private var due = Duration.zero
    private var timer = Timer.stopped
    private var isClosed = false

    init(_ rule: Rule) {
        self.rule = rule
    }
}

// MARK: - Events

extension RateLimitState {
    /// A notification has come. Hands out the one that it takes the place of, which is to go without a lock.
    mutating func arrived(
        _ notification: LocalNotification, at now: Duration
    ) -> (Arrival, dropped: LocalNotification?) {
        if isClosed { return (.nothing, nil) }
        let dropped = pending
        switch rule {
        case .debounced(let interval):
            pending = notification
            // Two threads may come in another order than they have read the clock.
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

    /// The timer has started, has slept, or has called the observer.
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
        // What comes meanwhile waits for the call to end, so that one that comes later is not called earlier.
        timer = .calling
        if case .throttled(let interval, _) = rule { due = now + interval }
        return .deliver(notification)
    }

    /// The clock has refused to go on. What waits does so until the next notification starts the timer again.
    mutating func timerFailed() {
        timer = .stopped
    }

    /// Nothing comes any more. Hands out what is dropped, and says whether the timer sleeps and is not needed any more.
    mutating func close() -> (isTimerSleeping: Bool, dropped: LocalNotification?) {
        isClosed = true
        return (timer == .sleeping, pending.take())
    }
}
