import NotifyBroker
import Testing

@testable import NotifyServer

struct LoopClockTests {
    private func time(_ clock: inout LoopClock, _ monotonic: Duration) -> Duration { clock.read(monotonic).time }

    /// A clock that was read at 100 s.
    private static func clock(waitingUntil wakeUps: Duration...) -> LoopClock {
        var clock = LoopClock()
        _ = clock.read(.seconds(100))
        for wakeUp in wakeUps { clock.wakesUp(at: wakeUp) }
        clock.waits(hasTimer: !wakeUps.isEmpty)
        return clock
    }

    /// A clock that was read when its timer was due, at 100.5 s.
    private static func clockWithReachedTimer() -> LoopClock {
        var clock = Self.clock(waitingUntil: .milliseconds(100_500))
        _ = clock.read(.milliseconds(100_500))
        return clock
    }

    @Test func `a wait without a timer is no standstill`() {
        var clock = Self.clock()
        #expect(time(&clock, .seconds(500)) == .seconds(500))
        #expect(clock.stoodStill == .zero)
    }

    @Test func `a gap between readings that outlasts the timer is a standstill, and not counted`() {
        var clock = Self.clock(waitingUntil: .milliseconds(100_500))
        #expect(clock.read(.seconds(160)) == (.seconds(100), .seconds(60)))
        clock.waits(hasTimer: false)
        #expect(time(&clock, .seconds(161)) == .seconds(101))
        #expect(clock.stoodStill == .seconds(60))
    }

    @Test func `a timer that is late by the tolerance is no standstill`() {
        var clock = Self.clock(waitingUntil: .milliseconds(100_500))
        #expect(time(&clock, .milliseconds(100_500) + LoopClock.tolerance) == .milliseconds(100_750))
    }

    @Test func `a busy loop that reads the clock has not stood still`() {
        var clock = Self.clock(waitingUntil: .milliseconds(100_500))
        for step in 1...50 {
            let now = Duration.seconds(100) + .milliseconds(200 * step)
            #expect(time(&clock, now) == now)
        }
    }

    @Test func `a gap is a standstill while the loop is awake, even without a timer`() {
        var clock = Self.clock()
        _ = clock.read(.seconds(200))
        #expect(time(&clock, .seconds(260)) == .seconds(200))
    }

    @Test func `a gap is a standstill after an event has read the clock before the task of a due timer`() {
        var clock = Self.clock(waitingUntil: .milliseconds(100_500))
        _ = clock.read(.milliseconds(100_501))
        clock.waits(hasTimer: true)
        #expect(time(&clock, .seconds(160)) == .milliseconds(100_501))
    }

    @Test func `a timer that was reached and not set again does not make a later wait a standstill`() {
        var clock = Self.clockWithReachedTimer()
        clock.waits(hasTimer: false)
        #expect(time(&clock, .seconds(900)) == .seconds(900))
    }

    @Test func `a timer replaces one that was reached`() {
        var clock = Self.clockWithReachedTimer()
        clock.wakesUp(at: .milliseconds(101_000))
        clock.waits(hasTimer: true)
        #expect(time(&clock, .milliseconds(101_000)) == .seconds(101))
    }

    @Test func `a timer is due after a standstill`() {
        var clock = Self.clock(waitingUntil: .milliseconds(100_500))
        _ = clock.read(.seconds(160))
        clock.wakesUp(at: .milliseconds(100_600))
        clock.waits(hasTimer: true)
        #expect(time(&clock, .milliseconds(160_800)) == .milliseconds(100_800))
    }

    @Test func `a gap that outlasts the earliest of several timers is a standstill`() {
        var clock = Self.clock(waitingUntil: .milliseconds(100_400), .milliseconds(100_900))
        #expect(time(&clock, .seconds(101)) == .seconds(100))
    }
}
