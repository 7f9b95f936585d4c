import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// Every state of a redelivery with every event.
@Suite struct RedeliveriesTests {
    private static let one = MemberID(rawValue: 1)
    private static let two = MemberID(rawValue: 2)

    enum Stage: CaseIterable {
        case waiting, due, reading, inFlight, dead, deadLettering, unknown

        /// Makes redeliveries with message 7 of 100 bytes in this state. Its deadline or delay ends after 10 seconds.
        func make() -> Redeliveries {
            var messages = Redeliveries()
            guard self != .unknown else { return messages }
            let next: Redeliveries.Next =
                switch self {
                case .waiting: .wait(microseconds: 10_000_000, now: .test())
                case .dead, .deadLettering: .deadLetter
                default: .wait(microseconds: 0, now: .test())
                }
            messages.add(7, next, failures: 1, bytes: 100, holder: RedeliveriesTests.one, reason: "why")
            _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
            messages.saved([7])
            if self == .waiting { return messages }
            _ = messages.takeExpired(now: .zero)
            switch self {
            case .reading: _ = messages.takeDue(maximumCount: 9, maximumBytes: 999)
            case .inFlight:
                _ = messages.takeDue(maximumCount: 9, maximumBytes: 999)
                _ = messages.delivered(7, to: RedeliveriesTests.two, deadline: .seconds(10))
            case .deadLettering: _ = messages.takeDead(maximumCount: 9, maximumBytes: 999)
            default: break
            }
            return messages
        }

        var state: Redeliveries.State? {
            switch self {
            case .waiting: .waiting(until: .seconds(10))
            case .due: .due
            case .reading: .reading
            case .inFlight: .inFlight(RedeliveriesTests.two, deadline: .seconds(10))
            case .dead: .dead
            case .deadLettering: .deadLettering
            case .unknown: nil
            }
        }
    }

    private func changes(_ messages: inout Redeliveries) -> [DurableChange] {
        messages.takeUnsaved(of: DurableID(1), now: .zero).changes
    }

    private static let rights = MessageRights.identity(0)

    private func isCounted(_ messages: Redeliveries) -> Bool {
        let withheld = messages.messages.values.filter(\.isWithheld)
        return messages.withheld.count == withheld.count
            && messages.withheld.bytes == withheld.reduce(0) { $0 + Int($1.bytes) }
    }

    @Test func `the reason of a failure is known until the log has it`() {
        var messages = Redeliveries()
        let next = Redeliveries.Next.wait(microseconds: 10_000_000, now: .test())
        messages.add(7, next, failures: 1, bytes: 100, holder: Self.one, reason: "why")
        let unsaved = messages.unsavedReason(of: 7)
        _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
        let saving = messages.unsavedReason(of: 7)
        messages.saved([7])
        let saved = messages.unsavedReason(of: 7)
        #expect(unsaved == "why" && saving == "why" && saved == nil)
    }

    @Test func `withheld messages take at most half of the room, and the oldest are removed`() {
        var messages = Redeliveries()
        let count = UInt64(WithheldCopies.maximumCount)
        for sequence in 1...count { messages.addWithheld(sequence, bytes: 10, Self.rights) }
        #expect(messages.removeExcessWithheld().isEmpty)
        #expect(!messages.isFull(withInFlight: Int(count) - 1, bytes: 0))
        messages.addWithheld(count + 1, bytes: 10, Self.rights)
        let removed = messages.removeExcessWithheld()
        #expect(removed == Array(1...UInt64(removed.count)) && removed.count > 1)
        #expect(messages.count == Int(count) + 1 - removed.count && isCounted(messages))
        #expect(messages.removeExcessWithheld().isEmpty)
    }

    @Test func `withheld bytes are limited, except if there is only a single message`() {
        var messages = Redeliveries()
        for sequence in 1...10 as ClosedRange<UInt64> {
            messages.addWithheld(sequence, bytes: UInt32(WithheldCopies.maximumBytes), Self.rights)
            #expect(messages.removeExcessWithheld() == (sequence == 1 ? [] : [sequence - 1]))
        }
        #expect(messages.count == 1 && isCounted(messages))
    }

    @Test func `while the log has no room for the owner, withheld messages take no room from failed ones`() {
        var messages = Redeliveries()
        messages.maximumBytes = Redelivery.bytesWithoutRoom
        messages.addWithheld(1, bytes: UInt32(Redelivery.bytesWithoutRoom), Self.rights)
        #expect(!messages.isFull(withInFlight: 1, bytes: Redelivery.bytesWithoutRoom - 1))
        #expect(messages.isFull(withInFlight: 1, bytes: Redelivery.bytesWithoutRoom))
        #expect(!messages.mayWithholdWithoutRoom)
        messages.addWithheld(2, bytes: 100, Self.rights)
        #expect(messages.removeExcessWithheld(maximumBytes: Redelivery.bytesWithoutRoom) == [1])
        #expect(messages.mayWithholdWithoutRoom && isCounted(messages))
    }

    @Test func `a withheld message is one that is due, with known rights and without a failure`() {
        var messages = Redeliveries()
        for sequence in 1...2 as ClosedRange<UInt64> { messages.addWithheld(sequence, bytes: 10, Self.rights) }
        _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
        messages.saved([1, 2])
        #expect(messages.withheld.count == 2)
        #expect(messages.takeDue(Self.rights, maximumCount: 2, maximumBytes: 100) == [1, 2])
        #expect(messages.withheld.count == 0)
        for _ in 0..<100 {
            messages.evaluated(1, Self.rights)
            #expect(messages.withheld.count == 1)
            #expect(messages.takeDue(Self.rights, maximumCount: 2, maximumBytes: 100) == [1])
        }
        let isDelivered = messages.delivered(2, to: Self.one, deadline: nil)
        #expect(isDelivered)
        messages.evaluated(1, Self.rights)
        messages.forgetRights()
        #expect(messages.withheld.count == 0 && isCounted(messages))
        messages.remove(1)
        #expect(isCounted(messages))
    }

    @Test func `a message that was delivered and given back is not withheld while no client is attached`() {
        var messages = Redeliveries()
        messages.addWithheld(1, bytes: 10, Self.rights)
        _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
        messages.saved([1])
        #expect(messages.takeDue(Self.rights, maximumCount: 1, maximumBytes: 100) == [1])
        let isDelivered = messages.delivered(1, to: Self.one, deadline: nil)
        #expect(isDelivered)
        messages.change(1, to: .due, failures: 0)
        _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
        messages.saved([1])
        #expect(messages.takeDue(maximumCount: 1, maximumBytes: 100) == [1])
        messages.evaluated(1, Self.rights, isSetAside: false)
        #expect(messages.withheld.count == 0 && isCounted(messages))
    }

    @Test func `a deadline that was extended to the same time passes once`() {
        var messages = Stage.inFlight.make()
        messages.extend(7, to: .seconds(10))
        messages.extend(7, to: .seconds(10))
        #expect(messages.takeExpired(now: .seconds(10)).count == 1)
    }

    @Test(arguments: Stage.allCases)
    func `each state is reached, and has its counts`(_ stage: Stage) {
        let messages = stage.make()
        #expect(messages.state(of: 7) == stage.state)
        #expect(messages.count == (stage == .unknown ? 0 : 1) && messages.bytes == messages.count * 100)
        #expect(messages.dueCount == (stage == .due || stage == .reading ? 1 : 0))
        #expect(messages.inFlightCount == (stage == .inFlight ? 1 : 0))
        #expect(messages.hasWork == (stage == .due || stage == .dead) && !messages.hasUnsaved)
    }

    @Test(arguments: Stage.allCases)
    func `an acknowledgement by a member that got the message finishes it`(_ stage: Stage) {
        for member in [Self.one, Self.two] {
            var messages = stage.make()
            let isHolder = stage != .unknown && (member == Self.one || stage == .inFlight)
            let holders = messages.acknowledge([SequenceRange(first: 0, last: 9)], by: member)
            #expect(holders.count == (isHolder ? 1 : 0))
            if isHolder { #expect(holders == [stage == .inFlight ? Self.two : nil]) }
            #expect(messages.state(of: 7) == (isHolder ? nil : stage.state))
            #expect(changes(&messages) == (isHolder ? [.forget(id: DurableID(1), sequences: [7])] : []))
            #expect(messages.dueCount + messages.inFlightCount <= messages.count)
        }
    }

    @Test(arguments: Stage.allCases)
    func `a member that has given the message back can't acknowledge it any more`(_ stage: Stage) {
        var messages = stage.make()
        messages.release(7, by: Self.one)
        #expect(messages.acknowledge([SequenceRange(first: 7, last: 7)], by: Self.one).isEmpty)
        #expect(messages.state(of: 7) == stage.state)
    }

    @Test(arguments: Stage.allCases)
    func `time makes waiting messages due, and reports messages in flight past their deadline`(_ stage: Stage) {
        var messages = stage.make()
        #expect(messages.takeExpired(now: .seconds(9)).isEmpty && messages.state(of: 7) == stage.state)
        let expired = messages.takeExpired(now: .seconds(10))
        #expect(expired.map(\.sequence) == (stage == .inFlight ? [7] : []))
        #expect(messages.state(of: 7) == (stage == .waiting ? .due : stage.state))
        #expect(messages.takeExpired(now: .seconds(99)).isEmpty, "a message expires only once")
    }

    @Test(arguments: Stage.allCases)
    func `extending postpones the deadline of a message in flight`(_ stage: Stage) {
        var messages = stage.make()
        messages.extend(7, to: .seconds(30))
        #expect(messages.takeExpired(now: .seconds(29)).isEmpty)
        #expect(messages.takeExpired(now: .seconds(30)).map(\.sequence) == (stage == .inFlight ? [7] : []))
    }

    @Test(arguments: Stage.allCases)
    func `only due messages are read, and only read messages are delivered`(_ stage: Stage) {
        var messages = stage.make()
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 0) == (stage == .due ? [7] : []))
        let isRead = stage == .due || stage == .reading
        #expect(messages.delivered(7, to: Self.one, deadline: nil) == isRead)
        #expect(messages.state(of: 7) == (isRead ? .inFlight(Self.one, deadline: nil) : stage.state))
    }

    @Test(arguments: Stage.allCases)
    func `messages that were read and not delivered are due again, before later ones`(_ stage: Stage) {
        var messages = stage.make()
        messages.add(9, .wait(microseconds: 0, now: .test()), failures: 1, bytes: 1, holder: Self.one)
        _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
        messages.saved([9])
        _ = messages.takeExpired(now: .zero)
        messages.notDelivered([7])
        let isDue = stage == .due || stage == .reading
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 999) == (isDue ? [7, 9] : [9]))
    }

    @Test(arguments: Stage.allCases)
    func `the end of a member takes back the messages in flight to it`(_ stage: Stage) {
        var messages = stage.make()
        #expect(messages.ended(Self.one) == [])
        #expect(messages.ended(Self.two) == (stage == .inFlight ? [7] : []))
        #expect(messages.acknowledge([SequenceRange(first: 7, last: 7)], by: Self.one).isEmpty)
        var given = stage.make()
        given.giveBackAll()
        #expect(given.state(of: 7) == (stage == .inFlight ? .due : stage.state))
    }

    @Test(arguments: Stage.allCases)
    func `a failure is recorded with the next state`(_ stage: Stage) {
        var messages = stage.make()
        messages.change(7, to: .wait(microseconds: 5_000_000, now: .test()), failures: 2, reason: "again")
        guard stage != .unknown else { return #expect(changes(&messages) == []) }
        #expect(messages.state(of: 7) == .waiting(until: .seconds(5)) && messages.failures(of: 7) == 2)
        let row = Redelivery(sequence: 7, failures: 2, delayMicroseconds: 5_000_000, bytes: 100)
        #expect(changes(&messages) == [.keep(id: DurableID(1), row, reason: "again")])
    }

    @Test(arguments: Stage.allCases)
    func `only a dead message becomes a dead letter, once its reason is in the log`(_ stage: Stage) {
        var messages = stage.make()
        #expect(messages.takeDead(maximumCount: 9, maximumBytes: 0) == (stage == .dead ? [7] : []))
        let isDead = stage == .dead || stage == .deadLettering
        var undone = messages
        undone.notDeadLettered([7])
        #expect(undone.state(of: 7) == (isDead ? .dead : stage.state))
        messages.deadLettered([7])
        #expect(messages.state(of: 7) == (isDead ? nil : stage.state) && !messages.hasUnsaved)
    }

    @Test func `a message whose copy is not in the log yet is neither read nor made a dead letter`() {
        var messages = Redeliveries()
        messages.add(1, .wait(microseconds: 0, now: .test()), failures: 1, bytes: 1, holder: Self.one)
        messages.add(2, .deadLetter, failures: 1, bytes: 1, holder: Self.one)
        _ = messages.takeExpired(now: .zero)
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 9).isEmpty && messages.dueCount == 0)
        #expect(messages.takeDead(maximumCount: 9, maximumBytes: 9).isEmpty)
        let batch = messages.takeUnsaved(of: DurableID(1), now: .zero)
        #expect(messages.takeDead(maximumCount: 9, maximumBytes: 9).isEmpty)
        messages.saveFailed(batch)
        #expect(messages.unsavedCount == 2)
        let again = messages.takeUnsaved(of: DurableID(1), now: .zero)
        #expect(again.changes == batch.changes && batch.changes.count == 2)
        messages.saved(again.reasons.keys.sorted())
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 9) == [1])
        #expect(messages.takeDead(maximumCount: 9, maximumBytes: 9) == [2])
    }

    @Test(arguments: [Stage.due, .dead])
    func `the queue entry of a removed message is skipped`(_ stage: Stage) {
        var messages = stage.make()
        let next: Redeliveries.Next =
            stage == .dead ? .deadLetter : .wait(microseconds: 0, now: .test())
        messages.remove(7)
        messages.add(7, next, failures: 1, bytes: 100, holder: Self.one)
        _ = messages.takeExpired(now: .zero)
        func take() -> [UInt64] {
            stage == .dead
                ? messages.takeDead(maximumCount: 9, maximumBytes: 999)
                : messages.takeDue(maximumCount: 9, maximumBytes: 999)
        }
        #expect(take().isEmpty, "the log does not have the copy of the message")
        _ = messages.takeUnsaved(of: DurableID(1), now: .zero)
        messages.saved([7])
        #expect(take() == [7] && take().isEmpty)
    }

    @Test func `a later change is not replaced by the reason of a failed batch`() {
        var messages = Stage.inFlight.make()
        messages.change(7, to: .wait(microseconds: 1, now: .test()), failures: 2, reason: "first")
        let batch = messages.takeUnsaved(of: DurableID(1), now: .zero)
        messages.change(7, to: .wait(microseconds: 1, now: .test()), failures: 3, reason: "second")
        messages.saveFailed(batch)
        guard case .keep(_, let row, let reason, nil)? = changes(&messages).first else {
            Issue.record("nothing is saved")
            return
        }
        #expect(row.failures == 3 && reason == "second")
    }

    @Test func `messages from the log wait for the rest of their delay, at most for the longest delay`() {
        let now = BrokerTime(monotonic: .seconds(100), wallMicroseconds: 50_000_000)
        let messages = Redeliveries(
            [
                Redelivery(sequence: 1, failures: 2, delayMicroseconds: 0, bytes: 10),
                Redelivery(sequence: 2, delayMicroseconds: 3_000_000, bytes: 10),
                Redelivery(sequence: 3, delayMicroseconds: .max, bytes: 10),
                Redelivery(sequence: 4, isDead: true, bytes: 10),
            ], now: now)
        #expect(messages.state(of: 1) == .waiting(until: .seconds(100)) && messages.failures(of: 1) == 2)
        #expect(messages.state(of: 2) == .waiting(until: .seconds(103)))
        #expect(messages.state(of: 3) == .waiting(until: .seconds(100 + 30 * 86_400)))
        #expect(messages.state(of: 4) == .dead && messages.bytes == 40 && !messages.hasUnsaved && messages.hasWork)
    }

    @Test func `the log gets the rest of a delay at the time of the batch`() {
        var messages = Redeliveries()
        messages.add(1, .wait(microseconds: 5_000_000, now: .test()), failures: 1, bytes: 1, holder: Self.one)
        func delays(_ now: Duration) -> [UInt64] {
            var copy = messages
            return copy.takeUnsaved(of: DurableID(1), now: now).changes.compactMap {
                if case .keep(_, let row, _, _) = $0 { row.delayMicroseconds } else { nil }
            }
        }
        #expect(delays(.zero) == [5_000_000] && delays(.seconds(4)) == [1_000_000] && delays(.seconds(6)) == [0])
    }

    @Test func `reading is bounded by number and bytes, but a large message is read alone`() {
        var messages = Redeliveries(
            (1...5).map { Redelivery(sequence: $0, bytes: $0 == 3 ? 1_000 : 100) }, now: .test())
        _ = messages.takeExpired(now: .seconds(1))
        #expect(messages.takeDue(maximumCount: 2, maximumBytes: 500) == [1, 2])
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 500) == [3])
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 150) == [4])
        #expect(messages.takeDue(maximumCount: 9, maximumBytes: 150) == [5])
    }

    @Test(arguments: [(99_999, 0, false), (99_999, 1, true), (100_000, 0, true)])
    func `messages in flight count, too, because they may fail`(_ count: Int, _ inFlight: Int, _ isFull: Bool) {
        let messages = Redeliveries((1...UInt64(count)).map { Redelivery(sequence: $0, bytes: 1) }, now: .test())
        #expect(messages.isFull(withInFlight: inFlight, bytes: 0) == isFull)
        #expect(messages.isFull(withInFlight: 0, bytes: Redelivery.maximumBytes))
    }
}
