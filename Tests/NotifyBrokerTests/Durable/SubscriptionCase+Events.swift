import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// The states of a durable subscription in the tables of ``SubscriptionStateTests``. A, B and C are its clients.
enum SubscriptionState: String, CaseIterable {
    /// No client is attached.
    case free
    /// An exclusive client is attached.
    case exclusive
    /// An exclusive client holds a message. There is no deadline.
    case held
    /// A group has one member, or two.
    case one, two
    /// The only member of a group holds a message.
    case alone
    /// One of two members holds a message in its first delivery.
    case flight
    /// As `flight`, and the deadline has passed without a timer.
    case expired
    /// The deadline of A has passed, and B has received the message.
    case stalled
    /// A has rejected the message, which waits for its next delivery.
    case waits
    /// The deadlines of the last two deliveries have passed, and the message becomes a dead letter.
    case deadLettering
    /// A has died with more messages than become redeliveries at a time. The observed message is not one yet.
    case detaching
    /// As `detaching`, and there is no other member.
    case ended
    /// A holds the message as its last delivery before it becomes a dead letter.
    case last
    /// A holds a message, and there is no room for further redeliveries.
    case full
    /// The removal is pending.
    case removing

    private static let fullRedeliveries = Redeliveries(
        (1..<UInt64(Redelivery.maximumCount)).map {
            Redelivery(sequence: $0 + 1_000_000, delayMicroseconds: .max, bytes: 1)
        }, now: .test())

    func make() throws -> SubscriptionCase {
        var made = SubscriptionCase(
            self == .exclusive || self == .held ? .exclusive : .group,
            redeliveries: self == .full ? Self.fullRedeliveries : Redeliveries())
        switch self {
        case .free: break
        case .removing: try made.durable.removalRequested()
        case .exclusive, .one: try made.attach("A")
        case .held, .alone:
            try made.attach("A")
            made.holder = made.deliver()
        case .ended:
            try made.attach("A")
            made.deliver(600)
            made.focus = 610
            made.end("A", .died)
        default:
            try made.attach("A")
            try made.attach("B")
            if self == .two { break }
            if self == .detaching {
                made.end("B", .detached)
                made.deliver(600)
                made.focus = 610
                try made.attach("B")
                made.end("A", .died)
                break
            }
            made.holder = made.deliver()
            try finish(&made)
        }
        return made
    }

    private func finish(_ made: inout SubscriptionCase) throws {
        switch self {
        case .expired: made.now = SubscriptionCase.deadline
        case .stalled, .deadLettering:
            made.pass(SubscriptionCase.deadline)
            made.pass(SubscriptionCase.delay)
            made.redeliver(to: "B")
            made.former = "A"
            guard self == .deadLettering else { break }
            made.pass(SubscriptionCase.deadline)
            made.holder = nil
            #expect(made.durable.takeDead(maximumCount: 1, maximumBytes: 0) == [made.focus])
        case .waits, .last:
            try made.durable.rejected(
                Reject(subscription: 1, sequence: made.focus, reason: "no"), by: made.index("A"), now: made.time)
            made.save()
            made.holder = nil
            guard self == .last else { break }
            made.pass(SubscriptionCase.delay)
            made.redeliver(to: "A")
        default: break
        }
    }
}

/// The events of the tables. A late answer comes from a member whose deadline for the message has passed.
enum SubscriptionEvent: String, CaseIterable {
    case attach, takeOver, detach, lost, acknowledge, lateAck, reject, lateReject, giveBack, extend, fail
    case deadline, message, settings, removal

    /// Applies the event.
    ///
    /// - Returns: The outcome; nil if the event is impossible, because no client could cause it.
    func apply(to made: inout SubscriptionCase) -> String? {
        do throws(WireError) {
            switch self {
            case .attach: try made.attach("C")
            case .takeOver: try made.attach("C", sharing: .exclusive, takesOver: true)
            case .detach, .lost:
                guard let letter = made.holder ?? made.members.keys.min() else { return nil }
                made.end(letter, self == .detach ? .detached : .died)
            case .acknowledge, .lateAck:
                guard let letter = self == .lateAck ? made.former : made.holder else { return nil }
                let range = SequenceRange(first: made.focus, last: made.focus)
                try made.durable.acknowledged([range], by: made.index(letter), now: made.time)
            case .reject: return try reject(.failed, &made)
            case .giveBack: return try reject(.returned, &made)
            case .fail: return try reject(.dead, &made)
            case .lateReject:
                guard let letter = made.former else { return nil }
                try reject(.dead, by: letter, &made)
            case .extend:
                guard let letter = made.holder else { return nil }
                made.durable.extended([made.focus], microseconds: 0, by: made.index(letter), now: made.time)
            case .deadline:
                guard made.durable.nextTime(now: made.now) != nil else { return nil }
                made.pass(SubscriptionCase.deadline)
            case .message: return made.deliver().map { "to\($0)" } ?? "stays"
            case .settings:
                try made.durable.checkChangeable()
                var settings = made.durable.settings
                settings.maximumDeliveries = 1
                settings.deadlineMicroseconds = 1_000_000
                made.durable.configure(settings)
                made.durable.changeEnded(succeeded: true)
            case .removal: try made.durable.removalRequested()
            }
        } catch {
            switch error.code {
            case .subscriptionHeld: return "!held"
            case .subscriptionInUse: return "!inUse"
            default: return "!\(error.code)"
            }
        }
        return made.summary
    }

    private func reject(_ outcome: Reject.Outcome, _ made: inout SubscriptionCase) throws(WireError) -> String? {
        guard let letter = made.holder else { return nil }
        try reject(outcome, by: letter, &made)
        return made.summary
    }

    private func reject(
        _ outcome: Reject.Outcome, by letter: Character, _ made: inout SubscriptionCase
    ) throws(WireError) {
        try made.durable.rejected(
            Reject(subscription: 1, sequence: made.focus, outcome: outcome, reason: "why"), by: made.index(letter),
            now: made.time)
    }
}
