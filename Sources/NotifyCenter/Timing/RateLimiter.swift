/// Keeps one observer's notifications back, as its rate limit says. There is a task only while one is kept, and it holds the
/// observer and the center only during a call.
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
        // The center has gone, without ending its observations.
        close()
    }

    /// Whether the observer is to be called with the notification now. Otherwise it may be later, or not.
    func admits(_ notification: LocalNotification, for observer: Observer, in center: LocalCenter) -> Bool {
        // Not under the lock: the clock may be anybody's.
        let now = rateLimit.now()
        let (isAdmitted, dropped) = state.withLock { state in
            let (arrival, dropped) = state.limit.arrived(notification, at: now)
            if case .startTimer = arrival { state.timer = startTimer(for: observer, in: center) }
            if case .deliver = arrival { return (true, dropped) }
            return (false, dropped)
        }
        // What has to go goes without the lock: it may come back here.
        withExtendedLifetime(dropped) {}
        return isAdmitted
    }

    /// The observation has ended: what is kept is not delivered any more.
    func close() {
        let (timer, dropped) = state.withLock { state in
            let (isSleeping, dropped) = state.limit.close()
            // A call that has begun is not cancelled.
            return (isSleeping ? state.timer.take() : nil, dropped)
        }
        timer?.cancel()
        withExtendedLifetime(dropped) {}
    }
}

// MARK: - The timer

extension RateLimiter {
    /// Detached: it runs for many posters, so that no one's task-local values, priority or cancellation are its own.
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
