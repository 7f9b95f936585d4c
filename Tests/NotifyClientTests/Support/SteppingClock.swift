@_spi(Package) import NotifyCenter

@testable import NotifyClient

/// A clock that a test advances, for a client with a real socket.
final class SteppingClock: ClientClock {
    private struct State {
        var now = Duration.seconds(1)
        var timers: [(moment: Duration, work: @Sendable () -> Void)] = []
        /// Whether the clock reaches the moment of each timer at once.
        var runsFreely = false
    }

    private let state = Lock(State())
    private let moments = Inbox<Duration>()

    var now: Duration { state.withLock(\.now) }

    /// Runs `work` at once if the clock has already reached `moment`.
    func wake(at moment: Duration, _ work: @escaping @Sendable () -> Void) {
        let (isDue, runsFreely) = state.withLock { state in
            if state.runsFreely { state.now = max(state.now, moment) }
            if moment > state.now { state.timers.append((moment, work)) }
            return (moment <= state.now, state.runsFreely)
        }
        // The work may set the next timer.
        if runsFreely { Task { work() } } else if isDue { work() }
        moments.put(moment)
    }

    /// Waits until the client has set a timer for `moment`.
    func waitForTimer(at moment: Duration) async throws {
        while try await moments.next() != moment {}
    }

    /// Advances past the moments of all timers. From then on, the clock advances to the moment of a timer as soon as the
    /// timer is set: a client that ends waits for no time.
    func runFreely() {
        let rest = state.withLock { state in
            state.runsFreely = true
            return (state.timers.map(\.moment).max() ?? state.now) - state.now
        }
        advance(by: rest)
    }

    /// Advances the clock, and runs the timers that are due.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            let due = state.timers.filter { $0.moment <= state.now }
            state.timers.removeAll { $0.moment <= state.now }
            return due.map(\.work)
        }
        for work in due { work() }
    }
}
