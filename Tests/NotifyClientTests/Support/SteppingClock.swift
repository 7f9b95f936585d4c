import NotifyCenter

@testable import NotifyClient

/// A clock that a test advances, for a client with a real socket.
final class SteppingClock: ClientClock {
    private struct State {
        var now = Duration.seconds(1)
        var timers: [(moment: Duration, work: @Sendable () -> Void)] = []
    }

    private let state = Lock(State())

    var now: Duration { state.withLock(\.now) }

    func wake(at moment: Duration, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.append((moment, work)) }
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
