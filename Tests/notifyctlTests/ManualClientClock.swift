import NotifyClient
import TestSupport

/// The time of a client, which follows a manual clock.
struct ManualClientClock: ClientClock {
    let clock: ManualClock

    var now: Duration { clock.now.offset }

    func wake(at moment: Duration, _ work: @escaping @Sendable () -> Void) {
        // The client batches its writes for at most 100 µs. These timers run at once, because the clock stands still.
        guard moment - now > .microseconds(100) else { return work() }
        let clock = clock
        Task {
            guard (try? await clock.sleep(until: .init(offset: moment), tolerance: nil)) != nil else { return }
            work()
        }
    }
}
