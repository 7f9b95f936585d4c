import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(25))) struct ArrivalTests {
    @Test func `a message that arrives before the timeout is taken`() async {
        let arrival = Arrival()
        #expect(arrival.take())
        #expect(!arrival.timeOut())
        #expect(arrival.take(), "the timeout has no effect afterwards")
        await arrival.wait(atMost: .seconds(3600))
    }

    @Test func `a message that arrives after the timeout is not taken`() {
        let arrival = Arrival()
        #expect(arrival.timeOut())
        #expect(!arrival.take())
        #expect(arrival.timeOut())
    }
}
