import Testing

@testable import NotifyClient

@Suite struct DeadlineExtenderTests {
    @Test func `deadlines are checked after each third of their time, and early while they are unknown`() {
        var extender = DeadlineExtender()
        #expect(extender.nextDeadline == nil && extender.timeReached(.seconds(9)).isEmpty)
        extender.attached(1, now: .zero)
        extender.attached(2, now: .zero)
        #expect(extender.nextDeadline == .milliseconds(33))
        extender.deadlineReported(1, .seconds(30), now: .milliseconds(10))
        #expect(extender.timeReached(.milliseconds(33)) == [2])
        #expect(extender.isKnown(1) && !extender.isKnown(2))
        extender.remove(2)
        #expect(extender.nextDeadline == .milliseconds(10_010))
        #expect(extender.timeReached(.seconds(10)) == [])
        #expect(extender.timeReached(.seconds(11)) == [1])
        #expect(extender.nextDeadline == .seconds(21))
    }

    @Test func `without a deadline, nothing is extended, and an unknown deadline is extended`() {
        var extender = DeadlineExtender()
        for number: UInt32 in 1...3 { extender.attached(number, now: .zero) }
        extender.deadlineReported(1, .zero, now: .zero)
        extender.deadlineReported(2, nil, now: .zero)
        extender.deadlineReported(3, .milliseconds(1), now: .zero)
        #expect(extender.timeReached(.seconds(1)) == [2, 3])
        #expect(!extender.isKnown(1) && !extender.isKnown(2) && extender.isKnown(3))
        extender.remove(2)
        extender.deadlineReported(2, .seconds(1), now: .zero)
        #expect(extender.timeReached(.seconds(9)) == [3])
    }
}
