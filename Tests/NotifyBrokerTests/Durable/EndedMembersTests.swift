import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// Messages of members that have ended, and messages from before a change of the deadline.
struct EndedMembersTests {
    // MARK: Moving

    @Test(arguments: [DurableSubscription.Ending.detached, .died])
    func `messages of an ended member become redeliveries even if a later one is acknowledged first`(
        _ ending: DurableSubscription.Ending
    ) throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        made.deliver(600)
        made.focus = 610
        try made.attach("B", window: 1)
        made.end("A", ending)
        #expect(made.durable.redeliveryCount == 512 && made.durable.room <= 0, "the other 88 leave no room for B")
        let index = made.index("B")
        #expect(made.durable.take(611, bytes: 100, for: index, at: CoarseTime(made.now)) == true)
        try made.durable.acknowledged([SequenceRange(first: 611, last: 611)], by: index, now: made.time)
        let failures = ending == .died ? 1 : 0
        for _ in 0..<3 { made.pass(.zero) }
        #expect(made.durable._redeliveries.inFlightCount == 0 && made.durable.redeliveryCount == 600)
        #expect((11...610).allSatisfy { made.durable.failures(of: $0) == failures })
        #expect(made.durable.position == 611 && made.durable.endedMembers.isEmpty)
    }

    @Test func `messages that a leaving member gave back do not fail if their deadline passes`()
        throws
    {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        try made.attach("B")
        made.end("B", .detached)
        made.deliver(1_000)
        try made.attach("B")
        made.end("A", .detached)
        #expect(made.durable.redeliveryCount == 512)
        made.now += SubscriptionCase.deadline
        for _ in 0..<3 { made.pass(.zero) }
        #expect(made.durable.redeliveryCount == 1_000 && made.durable.endedMembers.isEmpty)
        #expect((11...1_010).allSatisfy { made.durable.failures(of: $0) == 0 })
    }

    @Test func `without a limit of deliveries, the death of an exclusive client fails no redelivery`() throws {
        var made = SubscriptionCase(.exclusive)
        try made.attach("A")
        made.deliver()
        try made.durable.rejected(Reject(subscription: 1, sequence: 11), by: made.index("A"), now: made.time)
        made.save()
        made.pass(SubscriptionCase.delay)
        made.redeliver(to: "A")
        made.end("A", .died)
        #expect(made.summary == "-:wait1")
        made.save()
        made.pass(.zero)
        #expect(made.summary == "-:due1", "no delay remains")
    }

    @Test func `messages of a member that ends while those of another are moved become redeliveries, too`() throws {
        var made = SubscriptionCase(.group, window: 2_000)
        for letter in ["A", "B", "C"] as [Character] { try made.attach(letter) }
        made.deliver(3_000)
        made.end("A", .died)
        made.end("B", .detached)
        made.end("C", .died)
        for _ in 0..<20 { made.pass(.zero) }
        #expect(made.durable.redeliveryCount == 3_000 && made.durable.endedMembers.isEmpty)
        let failed = (11...3_010 as ClosedRange<UInt64>).count { made.durable.failures(of: $0) == 1 }
        #expect(failed > 1_000 && failed < 2_500, "the messages of A and C")
    }

    @Test func `redeliveries in flight to an ended member are due when the others attach again`() throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        made.deliver(600)
        made.durable.extended(Array(11...610), microseconds: 0, by: made.index("A"), now: made.time)
        made.save()
        try made.attach("B")
        made.end("A", .detached)
        #expect(made.durable._redeliveries.inFlightCount == 88, "the messages of the next slice")
        made.durable.detached()
        #expect(made.durable._redeliveries.inFlightCount == 0 && made.durable.endedMembers.isEmpty)
        #expect((11...610).allSatisfy { made.durable.failures(of: $0) == 0 })
    }

    @Test func `a reset that fails restores nothing in flight to an ended member`() throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        made.deliver(600)
        made.end("A", .died)
        #expect(!made.durable.endedMembers.isEmpty)
        made.durable.reset(to: 0)
        made.pass(.zero)
        made.durable.changeEnded(succeeded: false)
        #expect(!made.durable.hasFirstDeliveries && made.durable._redeliveries.inFlightCount == 0)
        #expect(made.durable.redeliveryCount == 512 && made.durable.position == 522)
    }

    // MARK: Deadlines

    private func configure(_ made: inout SubscriptionCase, deadline: Duration, succeeds: Bool = true) {
        var settings = made.durable.settings
        settings.deadlineMicroseconds = UInt64(deadline / .microseconds(1))
        made.durable.configure(settings)
        made.durable.changeEnded(succeeded: succeeds)
    }

    /// Whether messages have failed, in order of the sequence.
    private func failed(_ made: SubscriptionCase) -> [Bool] {
        (11...made.durable._cursor.passedThrough).map { made.durable.failures(of: $0) > 0 }
    }

    @Test func `messages that were delivered before a change of the deadline keep their deadline`() throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        made.deliver()
        configure(&made, deadline: .seconds(1))
        made.deliver()
        configure(&made, deadline: .zero)
        made.deliver()
        configure(&made, deadline: .seconds(5))
        made.deliver()
        #expect(made.durable.nextTime(now: made.now) == .seconds(1))
        made.pass(.milliseconds(990))
        #expect(failed(made) == [false, false, false, false])
        made.pass(.milliseconds(10))
        #expect(failed(made) == [false, true, false, false] && made.durable.nextTime(now: made.now) == .seconds(5))
        made.pass(.seconds(4))
        #expect(failed(made) == [false, true, false, true])
        made.pass(.seconds(5))
        #expect(failed(made) == [true, true, false, true])
        made.pass(.seconds(86_400))
        #expect(failed(made) == [true, true, false, true])
        try made.durable.acknowledged([SequenceRange(first: 0, last: 14)], by: 0, now: made.time)
        made.deliver()
        #expect(made.durable.nextTime(now: made.now) == made.now + .seconds(5))
        #expect(made.durable.earlierDeadlines.count == 0)
    }

    @Test func `a change that fails gives later messages the earlier deadline again`() throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        made.deliver()
        configure(&made, deadline: .seconds(1), succeeds: false)
        made.deliver()
        #expect(made.durable.nextTime(now: made.now) == SubscriptionCase.deadline)
    }

    @Test func `after many changes of the deadline, a message has at least the longest deadline`() throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        for number in 1...100 {
            made.deliver()
            configure(&made, deadline: .seconds(number % 2 == 0 ? 60 : number))
        }
        #expect(made.durable.earlierDeadlines.count == EarlierDeadlines.maximumCount)
        made.pass(.seconds(59))
        #expect(made.durable.redeliveryState(of: 100) == nil)
    }
}
