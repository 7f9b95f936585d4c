import Testing

@testable import NotifyBroker

@Suite struct CoarseTimeTests {
    @Test(arguments: [(0, 0), (1, 10), (10, 10), (11, 20), (123_456, 123_460)])
    func `a time is rounded up to 10 ms, so that no deadline passes early`(_ milliseconds: Int, _ expected: Int) {
        let time = CoarseTime(.milliseconds(milliseconds))
        #expect(time.time(before: .milliseconds(milliseconds)) == .milliseconds(expected))
        #expect(time.time(before: .seconds(1_000_000)) == .milliseconds(expected))
    }

    @Test func `the count wraps after 497 days`() {
        let days = Duration.seconds(86_400 * 497)
        let time = CoarseTime(days + .seconds(30_000))
        #expect(time.time(before: days + .seconds(60_000)) == days + .seconds(30_000))
    }
}
