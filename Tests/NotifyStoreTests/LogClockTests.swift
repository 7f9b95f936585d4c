import Testing

@testable import NotifyStore

struct LogClockTests {
    private let machine = ManualClock()

    @Test func `setting the wall clock changes no time of the log`() {
        let clock = LogClock(machine.storeClock)
        let start = clock.now
        machine.setWall(aheadBy: .seconds(1 << 30))
        machine.advance(by: .seconds(3))
        #expect(clock.now == start + .seconds(3))
        machine.setWall(aheadBy: .seconds(-(1 << 31)))
        #expect(clock.now == start + .seconds(3))
    }

    @Test func `within a boot the time continues by the time since the boot`() {
        let mark = LogClock(machine.storeClock).mark
        machine.advance(by: .seconds(100))
        machine.setWall(aheadBy: .seconds(5000))
        #expect(LogClock(machine.storeClock, continuing: mark).now == mark.time + .seconds(100))
    }

    @Test func `across boots the time continues by the wall clock and never goes back`() {
        let mark = LogClock(machine.storeClock).mark
        machine.advance(by: .seconds(10))
        machine.reboot(taking: .seconds(60))
        #expect(LogClock(machine.storeClock, continuing: mark).now == mark.time + .seconds(70))
        machine.setWall(aheadBy: .seconds(-1_000_000))
        #expect(LogClock(machine.storeClock, continuing: mark).now == mark.time)
    }

    @Test func `the system's clocks can be read`() {
        #expect(StoreClock.system.bootID.utf8.count == 36)
        let clock = LogClock(.system)
        #expect(clock.now <= clock.mark.time)
        #expect(clock.mark.wall > .seconds(1_700_000_000))
    }
}
