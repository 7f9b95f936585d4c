import Testing

@testable import NotifyClient

@Suite struct GapTests {
    @Test func `the description has the number and the sequences of missed messages`() {
        let upTo = NotificationClient.Gap.reconnected(after: 103_055, at: 103_112)
        #expect(upTo?.description == "may have missed up to 57 messages (103056–103112) while disconnected")
        let one = NotificationClient.Gap.reconnected(after: 4, at: 5)
        #expect(one?.description == "may have missed up to 1 message (5) while disconnected")
        let unknown = NotificationClient.Gap.reconnected(after: 5, at: 4)
        #expect(unknown?.description == "may have missed messages while disconnected")
        let dropped = NotificationClient.Gap(reason: .consumerTooSlow, missed: 3, sequences: 2...9)
        #expect(dropped.description == "dropped 3 messages (2–9): the consumer was too slow")
    }

    @Test func `without missed messages, there is no gap`() {
        #expect(NotificationClient.Gap.reconnected(after: 5, at: 5) == nil)
    }

    @Test func `the counts of joined gaps are added without overflow, and upper bounds stay upper bounds`() {
        let exact = NotificationClient.Gap(reason: .reconnected, missed: 2, sequences: 3...4)
        let bound = NotificationClient.Gap(reason: .reconnected, missed: 5, isUpperBound: true, sequences: 6...10)
        let sum = NotificationClient.Gap(reason: .reconnected, missed: 7, isUpperBound: true, sequences: 3...10)
        #expect(exact.joined(with: bound) == sum && bound.joined(with: exact) == sum)
        let huge = NotificationClient.Gap(reason: .reconnected, missed: .max, sequences: 0...UInt64.max)
        #expect(huge.joined(with: bound).missed == .max)
        #expect(!huge.description.isEmpty)
        let unknown = NotificationClient.Gap(reason: .reconnected, missed: nil, sequences: nil)
        #expect(unknown.joined(with: bound).missed == nil)
    }
}
