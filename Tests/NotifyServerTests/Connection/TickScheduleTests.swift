import Testing

@testable import NotifyServer

struct TickScheduleTests {
    private var schedule = TickSchedule()

    @Test mutating func `a tick is scheduled once`() {
        #expect(schedule.request() == .beforePoll)
        #expect(schedule.request() == nil)
        #expect(schedule.requestAfterPoll() == nil)
        schedule.scheduledTickBegan()
        #expect(schedule.requestAfterPoll() == .afterPoll)
        #expect(schedule.requestAfterPoll() == nil)
        #expect(schedule.request() == .beforePoll)
    }

    @Test mutating func `after two ticks without an event, the next one runs after a poll`() {
        schedule.eventReceived()
        for _ in 0..<2 {
            #expect(schedule.request() == .beforePoll)
            schedule.scheduledTickBegan()
        }
        #expect(schedule.request() == .afterPoll)
        schedule.wokenUp()
        schedule.eventReceived()
        #expect(schedule.request() == .beforePoll)
    }

    @Test mutating func `events that a tick causes do not count`() {
        for _ in 0..<2 {
            #expect(schedule.request() == .beforePoll)
            schedule.scheduledTickBegan()
            schedule.isTicking = true
            schedule.eventReceived()
            schedule.isTicking = false
        }
        #expect(schedule.request() == .afterPoll)
    }
}
