import Testing

@testable import NotifyClient

@Suite struct FlushPacingTests {
    private let interval = FlushPacing.interval

    @Test func `the first write is flushed immediately, once`() {
        var pacing = FlushPacing()
        #expect(pacing.gathered(10, now: .zero) == .now)
        #expect(pacing.gathered(20, now: .zero) == .none)
    }

    @Test func `writes shortly after a flush are gathered`() {
        var pacing = FlushPacing()
        pacing.flushed(now: .zero)
        #expect(pacing.gathered(10, now: .microseconds(1)) == .at(interval))
        #expect(pacing.gathered(20, now: .microseconds(2)) == .none)
        pacing.flushed(now: interval)
        #expect(pacing.gathered(10, now: interval + .microseconds(1)) == .at(interval * 2))
    }

    @Test func `a write after a pause is flushed immediately`() {
        var pacing = FlushPacing()
        pacing.flushed(now: .zero)
        #expect(pacing.gathered(10, now: interval) == .now)
    }

    @Test func `a response of the daemon or enough bytes end the gathering`() {
        for endsByAnswer in [true, false] {
            var pacing = FlushPacing()
            pacing.flushed(now: .zero)
            #expect(pacing.gathered(10, now: .zero) == .at(interval))
            if endsByAnswer { pacing.received() }
            let bytes = endsByAnswer ? 11 : FlushPacing.enoughBytes
            #expect(pacing.gathered(bytes, now: .zero) == .now)
            #expect(pacing.gathered(bytes, now: .zero) == .none)
        }
    }

    @Test func `a post that follows a response is flushed immediately`() {
        var pacing = FlushPacing()
        pacing.flushed(now: .zero)
        pacing.received()
        #expect(pacing.gathered(10, now: .zero) == .now)
    }

    @Test func `an unwritable channel is not flushed`() {
        var pacing = FlushPacing()
        pacing.held()
        #expect(pacing.gathered(1 << 20, now: .seconds(1)) == .none)
        pacing.flushed(now: nil)
        #expect(pacing.gathered(10, now: .seconds(1)) == .now)
    }
}
