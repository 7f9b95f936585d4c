import Testing

@testable import NotifyClient

@Suite struct FlushSchedulerTests {
    private let interval = FlushScheduler.interval

    @Test func `the first write is flushed immediately, and the second one is not`() {
        var scheduler = FlushScheduler()
        #expect(scheduler.buffered(10, now: .zero) == .now)
        #expect(scheduler.buffered(20, now: .zero) == .none)
    }

    @Test func `writes shortly after a flush are batched`() {
        var scheduler = FlushScheduler()
        scheduler.flushed(now: .zero)
        #expect(scheduler.buffered(10, now: .microseconds(1)) == .at(interval))
        #expect(scheduler.buffered(20, now: .microseconds(2)) == .none)
        scheduler.flushed(now: interval)
        #expect(scheduler.buffered(10, now: interval + .microseconds(1)) == .at(interval * 2))
    }

    @Test func `a write after a pause is flushed immediately`() {
        var scheduler = FlushScheduler()
        scheduler.flushed(now: .zero)
        #expect(scheduler.buffered(10, now: interval) == .now)
    }

    @Test func `a response of the daemon or enough bytes end the batch`() {
        for endsByAnswer in [true, false] {
            var scheduler = FlushScheduler()
            scheduler.flushed(now: .zero)
            #expect(scheduler.buffered(10, now: .zero) == .at(interval))
            if endsByAnswer { scheduler.received() }
            let bytes = endsByAnswer ? 11 : FlushScheduler.thresholdBytes
            #expect(scheduler.buffered(bytes, now: .zero) == .now)
            #expect(scheduler.buffered(bytes, now: .zero) == .none)
        }
    }

    @Test func `a post that follows a response is flushed immediately`() {
        var scheduler = FlushScheduler()
        scheduler.flushed(now: .zero)
        scheduler.received()
        #expect(scheduler.buffered(10, now: .zero) == .now)
    }

    @Test func `an unwritable channel is not flushed`() {
        var scheduler = FlushScheduler()
        scheduler.blocked()
        #expect(scheduler.buffered(1 << 20, now: .seconds(1)) == .none)
        scheduler.flushed(now: nil)
        #expect(scheduler.buffered(10, now: .seconds(1)) == .now)
    }
}
