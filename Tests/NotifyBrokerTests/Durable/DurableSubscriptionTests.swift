@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

/// Attaching, detaching, taking over and removing, in every state of a subscription.
struct DurableSubscriptionTests {
    @Test func `a free subscription can be attached`() {
        let durable = DurableSubscription.make()
        #expect(durable.attachRequested(by: .one, on: .another, filter: .everything) == .free)
    }

    @Test func `another filter is refused in every state`() throws {
        let other = SubscriptionFilter(patterns: [.everyName], object: "x")
        for state in DurableState.allCases {
            guard
                case .refused(let error, let pid) = try state.durable().attachRequested(
                    by: .one, on: .another, filter: other)
            else {
                Issue.record("\(state)")
                continue
            }
            #expect(error.code == .subscriptionMismatch)
            #expect(pid == 0)
        }
    }

    @Test func `a refusal names the existing patterns and object, and how to keep the backlog`() throws {
        let ab = SubscriptionFilter(patterns: try ["a.*", "b.>"].map { try NamePattern($0) }, object: "shop")
        let message = try Self.mismatch(of: ab, with: SubscriptionFilter(patterns: [.everyName], object: "shop"))
        #expect(message.contains("other patterns, 'a.*' 'b.>'") && !message.contains("object"))
        #expect(message.contains("'notifyctl durable edit inbox --patterns …'") && !message.contains("remove"))
        let object = try Self.mismatch(of: ab, with: SubscriptionFilter(patterns: ab.patterns))
        #expect(object.contains("another object, 'shop'") && !object.contains("edit"))
        let without = try Self.mismatch(of: .everything, with: ab)
        #expect(without.contains("other patterns, '>', and no object: use those") && !without.contains("remove"))
    }

    @Test func `the message about another filter has a bounded length and is one line`() throws {
        let long = String(repeating: "é", count: 120)
        let patterns = try (10...73).map { try NamePattern("\(long).\($0)") }
        for count in [1, 2, 64] {
            let filter = SubscriptionFilter(patterns: Array(patterns.prefix(count)), object: "\n\u{1B}" + long)
            let message = try Self.mismatch(of: filter, with: .everything)
            #expect(message.utf8.count < 500 && message.contains("other patterns, 'éé") && message.contains("…"))
            #expect(message.contains("another object, '\u{FFFD}\u{FFFD}éé"))
        }
        let short = SubscriptionFilter(patterns: try (10...73).map { try NamePattern("a\($0)") })
        let message = try Self.mismatch(of: short, with: .everything)
        #expect(message.contains("'a10' 'a11'") && message.contains("' …: use"))
    }

    private static func mismatch(of filter: SubscriptionFilter, with other: SubscriptionFilter) throws -> String {
        let durable = DurableSubscription.make(filter: filter)
        guard case .refused(let error, _) = durable.attachRequested(by: .one, on: .another, filter: other) else {
            Issue.record("not refused")
            return ""
        }
        #expect(error.code == .subscriptionMismatch)
        return error.message
    }

    @Test(arguments: [DurableState.attaching, .attached])
    func `only the same client instance takes over an attached subscription`(_ state: DurableState) throws {
        let durable = try state.durable()
        #expect(durable.attachRequested(by: .one, on: .another, filter: .everything) == .takeOver(from: [.test()]))
        guard case .refused(let error, let pid) = durable.attachRequested(by: .two, on: .another, filter: .everything)
        else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .subscriptionHeld)
        #expect(pid == 42)
    }

    @Test(arguments: [DurableState.attaching, .attached])
    func `a connection that has attached can't attach again`(_ state: DurableState) throws {
        let verdict = try state.durable()
            .attachRequested(by: .one, on: NotifyBroker.Attachment.test().connection, filter: .everything)
        guard case .refused(let error, _) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(error.code == .subscriptionInUse)
    }

    @Test func `a subscription that is being removed can't be attached`() throws {
        for instance in [InstanceID.one, .two] {
            guard
                case .refused(let error, _) = try DurableState.removing.durable()
                    .attachRequested(by: instance, on: .another, filter: .everything)
            else {
                Issue.record("not refused")
                return
            }
            #expect(error.code == .subscriptionInUse)
        }
    }

    @Test func `only the requested attachment is committed`() throws {
        var durable = DurableSubscription.make()
        #expect(durable.attachmentCommitted(.test()) == false, "no attachment was requested")
        _ = durable.attached(.test(), credit: 3)
        #expect(durable.room == 0, "nothing is delivered before the commit")
        #expect(durable.attachmentCommitted(.test(request: 2)) == false, "a late outcome of an earlier attachment")
        #expect(durable.attachmentCommitted(.test()) == true)
        #expect(durable.room == 3)
        #expect(durable.attachmentCommitted(.test()) == false, "twice")
        durable.detached()
        #expect(durable.attachmentCommitted(.test()) == false, "late")
        #expect(durable.state == .detached)
    }

    @Test(arguments: DurableState.allCases)
    func `only a detached subscription can be removed`(_ state: DurableState) throws {
        var durable = try state.durable()
        if state == .detached {
            try durable.removalRequested()
            #expect(durable.state == .removing)
        } else {
            let error = #expect(throws: WireError.self) { try durable.removalRequested() }
            #expect(error?.code == .subscriptionInUse)
        }
    }

    @Test(arguments: DurableState.allCases)
    func `a failed removal frees only a subscription that is being removed`(_ state: DurableState) throws {
        var durable = try state.durable()
        let before = durable.state
        durable.removalFailed()
        #expect(durable.state == (state == .removing ? .detached : before))
    }

    @Test(arguments: DurableState.allCases)
    func `detaching always ends the attachment`(_ state: DurableState) throws {
        var durable = try state.durable()
        durable.detached()
        #expect(durable.firstMember == nil)
        #expect(durable.state == (state == .removing ? .removing : .detached))
        #expect(durable.room == 0)
        #expect(!durable.progress.isAttached)
        durable.detached()
        #expect(durable.firstMember == nil)
    }
}

/// The states of a durable subscription, each with cursor 10.
enum DurableState: CaseIterable {
    case detached, attaching, attached, removing

    func durable() throws -> DurableSubscription {
        var durable = DurableSubscription.make(cursor: 10)
        switch self {
        case .detached: break
        case .removing: try durable.removalRequested()
        case .attaching: _ = durable.attached(.test(), credit: Subscribe.unlimitedCredit)
        case .attached: durable.attachForTest()
        }
        return durable
    }
}

extension InstanceID {
    static let one = InstanceID(high: 0, low: 1)
    static let two = InstanceID(high: 0, low: 2)
}

extension SubscriptionFilter {
    static let everything = SubscriptionFilter(patterns: [.everyName])
}

extension IdentityID {
    static let test: IdentityID = {
        var table = IdentityTable()
        return table.retain(Identity(uid: 1000, gid: 1000))
    }()
}

extension ConnectionID {
    /// A connection other than the one in `Attachment.test`.
    static let another = ConnectionID(index: 1, generation: 0)
}

extension BrokerTime {
    static func test(_ time: Duration = .zero) -> BrokerTime {
        BrokerTime(monotonic: time, wallMicroseconds: 1_000_000 + UInt64(time / .microseconds(1)))
    }
}

extension NotifyBroker.Attachment {
    static func test(request: UInt64 = 1, window: Int = 4, number: UInt32 = 7) -> Self {
        Self(
            connection: ConnectionID(index: 0, generation: 0), number: number, instance: .one, identity: .test, pid: 42,
            request: request, isResumed: true, window: window, requestedMicroseconds: 0)
    }
}

extension DurableSubscription {
    static func make(
        cursor: UInt64 = 10, seenThrough: UInt64 = 10, acknowledged: [SequenceRange] = [],
        filter: SubscriptionFilter = .everything
    ) -> DurableSubscription {
        DurableSubscription(
            DurableRecord(
                id: DurableID(3), owner: Identity(uid: 1000, gid: 1000), name: "inbox", filter: filter,
                startedAfter: 0,
                progress: DurableProgress(cursor: cursor, seenThrough: seenThrough, acknowledged: acknowledged)),
            identities: [.test])
    }

    /// A subscription whose attachment is committed.
    static func attachedForTest(
        cursor: UInt64 = 10, seenThrough: UInt64 = 10, acknowledged: [SequenceRange] = [], window: Int = 4,
        credit: UInt32 = Subscribe.unlimitedCredit
    ) -> DurableSubscription {
        var durable = make(cursor: cursor, seenThrough: seenThrough, acknowledged: acknowledged)
        durable.attachForTest(window: window, credit: credit)
        return durable
    }

    /// Records the first delivery of a message of 100 bytes to the first member.
    ///
    /// - Returns: Whether it is delivered.
    mutating func take(_ sequence: UInt64, at time: Duration = .zero) -> Bool {
        take(sequence, bytes: 100, for: 0, at: CoarseTime(time))
    }

    /// Acknowledges messages that were delivered to the first member.
    mutating func acknowledged(_ ranges: [SequenceRange]) throws(WireError) {
        try acknowledged(ranges, by: 0, now: .test())
    }

    mutating func creditAdded(_ messages: UInt32) { creditAdded(messages, to: 0) }

    mutating func attachForTest(window: Int = 4, credit: UInt32 = Subscribe.unlimitedCredit) {
        _ = attached(.test(window: window), credit: credit)
        _ = attachmentCommitted(.test(window: window))
    }
}
