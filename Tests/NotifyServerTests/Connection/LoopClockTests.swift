import NotifyBroker
import Testing

@testable import NotifyServer

struct LoopClockTests {
    private func time(_ clock: inout LoopClock, _ monotonic: Duration) -> Duration { clock.read(monotonic).time }

    @Test func `without a timer, no gap between readings is a standstill`() {
        var clock = LoopClock()
        #expect(time(&clock, .seconds(100)) == .seconds(100))
        #expect(time(&clock, .seconds(500)) == .seconds(500))
        #expect(clock.stoodStill == .zero)
    }

    @Test func `a gap between readings that outlasts the timer is a standstill, and not counted`() {
        var clock = LoopClock()
        _ = clock.read(.seconds(100))
        clock.wakesUp(at: .milliseconds(100_500))
        #expect(clock.read(.seconds(160)) == (.seconds(100), .seconds(60)))
        #expect(time(&clock, .seconds(161)) == .seconds(101))
        #expect(clock.stoodStill == .seconds(60))
    }

    @Test func `a timer that is late by the tolerance is no standstill`() {
        var clock = LoopClock()
        _ = clock.read(.seconds(100))
        clock.wakesUp(at: .milliseconds(100_500))
        #expect(time(&clock, .milliseconds(100_500) + LoopClock.tolerance) == .milliseconds(100_750))
    }

    @Test func `a busy loop that reads the clock has not stood still`() {
        var clock = LoopClock()
        _ = clock.read(.seconds(100))
        clock.wakesUp(at: .milliseconds(100_500))
        for step in 1...50 {
            let now = Duration.seconds(100) + .milliseconds(200 * step)
            #expect(time(&clock, now) == now)
        }
    }

    @Test func `a timer that was reached does not make a later gap a standstill`() {
        var clock = LoopClock()
        _ = clock.read(.seconds(100))
        clock.wakesUp(at: .milliseconds(100_500))
        _ = clock.read(.milliseconds(100_500))
        #expect(time(&clock, .seconds(900)) == .seconds(900))
    }

    @Test func `a gap that outlasts the earliest of several timers is a standstill`() {
        var clock = LoopClock()
        _ = clock.read(.seconds(100))
        clock.wakesUp(at: .milliseconds(100_400))
        clock.wakesUp(at: .milliseconds(100_900))
        #expect(time(&clock, .seconds(101)) == .seconds(100))
    }
}
