import TestSupport
import Testing

@testable import NotifyCenter

/// Tests how a rate limit uses its clock, including a clock that throws.
@Suite(.timeLimit(.minutes(25))) struct RateLimitTests {
    /// A clock that does not advance, and whose sleeps throw.
    private final class RefusingClock: Clock {
        struct Refusal: Error {}

        let slept = Collector<Duration>()
        let minimumResolution = Duration.zero

        var now: ManualClock.Instant { ManualClock.Instant(offset: .zero) }

        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            slept.add(deadline.offset)
            throw Refusal()
        }
    }

    private let center = LocalCenter()
    private let clock = RefusingClock()
    private let name = NotificationName(literal: "changed")

    /// Swift's clocks trap at times beyond 292 years.
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(300 * 365 * 86_400)])
    func `a clock is never asked to sleep beyond its range`(interval: Duration) async {
        let tokens = [
            center.observe(name, options: .debounced(for: interval, clock: clock)) { _ in },
            center.observe(name, options: .throttled(for: interval, clock: clock)) { _ in },
        ]
        for _ in 0..<2 { center.post(name) }
        for deadline in await clock.slept.values(2) {
            #expect(deadline >= .seconds(50 * 365 * 86_400) && deadline <= .seconds(292 * 365 * 86_400))
        }
        for token in tokens { token.cancel() }
    }

    @Test func `the next notification restarts a timer that the clock refused`() async {
        let token = center.observe(name, options: .debounced(for: .milliseconds(100), clock: clock)) { _ in
            Issue.record("called before the time")
        }
        #expect(
            await eventually {
                center.post(name)
                return clock.slept.values.count >= 3
            })
        token.cancel()
    }
}
