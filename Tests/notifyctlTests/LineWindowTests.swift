import Testing

@testable import notifyctl

/// The wait of `post --lines` for outcomes.
@Suite struct LineWindowTests {
    @Test func `lines wait while too many have no outcome`() async {
        let window = LineWindow(limit: 10)
        #expect(await window.wait())
        window.posted(10)
        async let room = window.wait()
        window.received(1)
        #expect(await room)
    }

    @Test func `a smaller limit holds until the first outcome`() async {
        let window = LineWindow(limit: 10, limitUntilOutcome: 1)
        #expect(await window.wait())
        window.posted(1)
        async let room = window.wait()
        window.received(1)
        #expect(await room)
        window.posted(9)
        #expect(await window.wait())
    }

    @Test func `after a failure, nothing more is posted, although there is room`() async {
        let window = LineWindow(limit: 10)
        window.posted(10)
        async let room = window.wait()
        window.close()
        window.received(10)
        #expect(await !room)
        #expect(await !window.wait())
    }

    @Test func `a cancelled task does not wait for outcomes`() async {
        let window = LineWindow(limit: 1)
        window.posted(1)
        let task = Task { await window.wait() }
        task.cancel()
        #expect(await !task.value)
    }
}
