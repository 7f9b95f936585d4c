/// Applies a rate limit to the calls of one observer. A task exists only while a notification is pending, and retains
/// the observer and the center only during a call.
final class RateLimiter: Sendable {
    private struct State {
        var limit: RateLimitState
        var timer: Task<Void, Never>?
    }

    private let rateLimit: RateLimit
    private let state: Lock<State>

    init(_ rateLimit: RateLimit) {
        self.rateLimit = rateLimit
        state = Lock(State(limit: RateLimitState(rateLimit.rule)))
    }

    deinit {
        // The center was released without ending its observations.
        close()
    }

    /// Applies the rate limit to a notification that has arrived.
    ///
    /// - Returns: Whether to call the observer with it now. Otherwise the notification is pending or was dropped.
    func admits(_ notification: LocalNotification, for observer: Observer, in center: LocalCenter) -> Bool {
        // Outside the lock: the clock may be custom code.
        let now = rateLimit.now()
        let (isAdmitted, dropped) = state.withLock { state in
            let (arrival, dropped) = state.limit.arrived(notification, at: now)
            if case .startTimer = arrival { state.timer = startTimer(for: observer, in: center) }
            if case .deliver = arrival { return (true, dropped) }
            return (false, dropped)
        }
        // Released outside the lock: the deinitializer of a payload may post again.
        withExtendedLifetime(dropped) {}
        return isAdmitted
    }

    /// Called when the observation ends. Drops the pending notification.
    func close() {
        let (timer, dropped) = state.withLock { state in
            let (isSleeping, dropped) = state.limit.close()
            // A call in progress is not cancelled.
            return (isSleeping ? state.timer.take() : nil, dropped)
        }
        timer?.cancel()
        withExtendedLifetime(dropped) {}
    }
}

// MARK: - Timer

extension RateLimiter {
    /// Starts the timer task. It is detached: it serves many posters, so it must not inherit the task-local values and
    /// the priority of a single poster.
    private func startTimer(for observer: Observer, in center: LocalCenter) -> Task<Void, Never> {
        Task.detached { [weak self, weak observer, weak center, rateLimit] in
            while true {
                switch self?.nextStep() {
                case .sleep(let due):
                    do {
                        try await rateLimit.sleep(due)
                    } catch {
                        self?.timerFailed()
                        return
                    }
                case .deliver(let notification):
                    if let observer, let center { observer.deliverRateLimited(notification, in: center) }
                case .stop, nil:
                    return
                }
            }
        }
    }

    private func nextStep() -> RateLimitState.TimerStep {
        let now = rateLimit.now()
        return state.withLock { $0.limit.timerIsDue(at: now) }
    }

    private func timerFailed() {
        state.withLock { $0.limit.timerFailed() }
    }
}
