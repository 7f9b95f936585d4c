import TestSupport
import Testing

@testable import NotifyCenter

/// Tests of keeping several values of a name and object.
@Suite(.timeLimit(.minutes(25))) struct ValueHistoryTests {
    private let center = LocalCenter()
    private let journal = Journal()

    private func post(_ amounts: ClosedRange<Int>, order: String? = nil, last count: Int) {
        for amount in amounts { center.setValue(OrderPaid(amount: amount, order: order), last: count) }
    }

    private func observed(_ options: ObservationOptions = []) -> [String] {
        let token = center.observe(OrderPaid.self, options: options) { [journal] in journal.note("\($0.amount)") }
        token.cancel()
        return journal.take()
    }

    @Test func `a later observer gets the last messages, the oldest first`() {
        post(1...5, last: 3)
        #expect(observed() == ["3", "4", "5"])
        #expect(center.value(of: OrderPaid.self)?.amount == 5)
        #expect(center.values(of: OrderPaid.self).map(\.amount) == [3, 4, 5])
    }

    @Test func `fewer messages than the limit are all kept`() {
        post(1...2, last: 3)
        #expect(observed() == ["1", "2"])
    }

    @Test func `each post sets the limit`() {
        post(1...5, last: 5)
        post(6...6, last: 2)
        #expect(observed() == ["5", "6"])
        post(7...7, last: 1)
        #expect(observed() == ["7"])
    }

    @Test func `an observer may ask for fewer messages`() {
        post(1...3, order: "a", last: 3)
        post(4...6, order: "b", last: 3)
        #expect(observed() == ["1", "2", "3", "4", "5", "6"])
        #expect(observed(.values(atMost: 4)) == ["3", "4", "5", "6"])
        #expect(observed(.withoutValues) == [])
    }

    @Test func `a waiting post may set values`() async {
        for amount in 1...3 { await center.postWaiting(OrderPaid(amount: amount), asValues: 2) }
        #expect(observed() == ["2", "3"])
    }

    @Test func `removed messages are not delivered`() {
        post(1...3, last: 3)
        #expect(center.clear(OrderPaid.self)?.amount == 3)
        #expect(observed() == [])
        #expect(center.values(of: OrderPaid.self).isEmpty)
    }

    @Test func `messages replaced by an observer during its calls are not delivered`() {
        post(1...3, last: 3)
        let token = center.observe(OrderPaid.self) { [center, journal] in
            journal.note("\($0.amount)")
            if $0.amount == 1 { center.setValue(OrderPaid(amount: 4), last: 2) }
        }
        #expect(journal.take() == ["1", "4", "3"])
        token.cancel()
    }

    @Test func `dropped values may use the center while they are released`() {
        final class Value: Sendable, Hashable {
            let center: LocalCenter
            init(_ center: LocalCenter) { self.center = center }
            deinit { center.setValue(nil, for: NotificationName(literal: "released")) }
            static func == (left: Value, right: Value) -> Bool { true }
            func hash(into hasher: inout Hasher) {}
        }
        for _ in 0..<4 {
            center.setValue(
                nil, for: NotificationName(literal: "value"), object: NotificationObject(value: Value(center)), last: 2)
        }
        #expect(center.value(of: "released") != nil)
        center.clear(matching: .every)
        #expect(center.value(of: "value", object: NotificationObject(value: Value(center))) == nil)
    }
}
