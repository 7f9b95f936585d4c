import TestSupport
import Testing

@testable import NotifyCenter

@Suite(.timeLimit(.minutes(25))) struct NextMessageTests {
    private let center = LocalCenter()

    private struct Pong: NotificationMessage {
        static let notificationName: NotificationName = "pong"
        let number: Int
    }

    private struct Failure: Error {}

    @Test func `a message posted by the closure is received`() async {
        let answer = await center.nextMessage(of: Pong.self) { center.post(Pong(number: 1)) }
        #expect(answer?.number == 1)
        #expect(center.observationCount == 0)
    }

    @Test func `the first of several messages is returned`() async throws {
        let next = try await center.nextNotification(for: "*") {
            for number in 1...3 { center.post(Pong(number: number)) }
        }
        #expect((next?.payload as? Pong)?.number == 1)
    }

    @Test func `the object and the filter apply`() async {
        let answer = await center.nextMessage(of: Pong.self, object: "b", options: .filter(Pong.self) { $0.number > 2 })
        {
            for number in 1...4 {
                for object in ["a", "b"] { center.post(Pong(number: number), object: NotificationObject(object)) }
            }
        }
        #expect(answer?.number == 3)
    }

    @Test func `the result after the timeout is nil`() async {
        let clock = ManualClock()
        async let answer = center.nextMessage(of: Pong.self, timeout: .seconds(3), clock: clock)
        await clock.waitForSleeper(until: .seconds(3))
        clock.advance(to: .seconds(3))
        #expect(await answer == nil)
        #expect(center.observationCount == 0)
    }

    @Test func `the timer ends with the result`() async {
        let clock = ManualClock()
        async let answer = center.nextMessage(of: Pong.self, timeout: .seconds(3), clock: clock)
        await clock.waitForSleeper(until: .seconds(3))
        center.post(Pong(number: 7))
        #expect(await answer?.number == 7)
        #expect(await eventually { clock.sleeperCount == 0 })
    }

    @Test func `the duration of the closure does not count towards the timeout`() async {
        let clock = ManualClock()
        let answer = await center.nextMessage(of: Pong.self, timeout: .zero, clock: clock) {
            clock.advance(to: .seconds(60))
            center.post(Pong(number: 7))
        }
        #expect(answer?.number == 7)
    }

    @Test(arguments: [Duration.zero, .microseconds(1), .microseconds(10)])
    func `a message posted by the closure is received however short the timeout`(_ timeout: Duration) async {
        var missed = 0
        for number in 0..<10_000 {
            let answer = await center.nextMessage(of: Pong.self, timeout: timeout) { center.post(Pong(number: number)) }
            if answer?.number != number { missed += 1 }
        }
        #expect(missed == 0)
    }

    @Test func `elements that were buffered before the waits ended are read`() async {
        let mailbox = SequenceMailbox<Int>(.dropOldest(limit: 3), isOnce: false)
        mailbox.put(1)
        mailbox.endWaits()
        #expect(await mailbox.next(isolation: nil) == 1)
        #expect(await mailbox.next(isolation: nil) == nil)
    }

    @Test func `the result after cancellation is nil`() async {
        let begun = Gate()
        let waiting = Task { [center] in
            await center.nextMessage(of: Pong.self) { begun.open() }
        }
        await begun.pass()
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test func `an error of the closure ends the observation`() async {
        await #expect(throws: Failure.self) {
            try await center.nextMessage(of: Pong.self) { throw Failure() }
        }
        #expect(center.observationCount == 0)
        await #expect(throws: NameError.self) { try await center.nextNotification(for: "a..b") }
    }
}
