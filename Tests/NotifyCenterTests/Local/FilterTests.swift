import TestSupport
import Testing

@testable import NotifyCenter

/// `.filter` with every kind of observer.
@Suite(.timeLimit(.minutes(25))) struct FilterTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let large: ObservationOptions = .filter(OrderPaid.self) { $0.amount > 10 }

    private func post(_ amounts: Int...) {
        for amount in amounts { center.post(OrderPaid(amount: amount)) }
    }

    @Test func `observers get only messages that the filter accepts`() throws {
        let owner = Thing()
        let tokens = [
            center.observe(OrderPaid.self, options: large) { [journal] in journal.note("type \($0.amount)") },
            try center.observe("orders.*", options: large) { [journal] _ in journal.note("pattern") },
            try center.observe("orders.*", options: .filter { $0.object == "b" }) { [journal] _ in
                journal.note("object")
            },
        ]
        center.observe(OrderPaid.self, owner: owner, options: large) { [journal] in journal.note("owner \($1.amount)") }
        post(1, 11)
        #expect(journal.take() == ["type 11", "pattern", "owner 11"])
        center.post(OrderPaid.notificationName, object: "b", payload: 17)
        #expect(journal.take() == ["object"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `all filters must accept a message`() {
        let even: ObservationOptions = .filter(OrderPaid.self) { $0.amount % 2 == 0 }
        let token = center.observe(OrderPaid.self, options: [large, even]) { [journal] in journal.note("\($0.amount)") }
        post(2, 11, 12)
        #expect(journal.take() == ["12"])
        token.cancel()
    }

    @Test func `a rejected message does not end a once observation`() {
        let token = center.observe(OrderPaid.self, options: [.once, large]) { [journal] in journal.note("\($0.amount)")
        }
        post(1, 11, 12)
        #expect(journal.take() == ["11"])
        #expect(!token.observation.isActive)
    }

    @Test func `a rejected message uses no buffer space`() async {
        let messages = center.messages(of: OrderPaid.self, options: large, buffering: .dropNewest(limit: 1))
        post(1, 2, 11)
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next()?.amount == 11)
        #expect(messages.droppedCount == 0)
    }

    @Test func `a rejected message does not count for a rate limit`() {
        let options: ObservationOptions = [.throttled(for: .seconds(1), clock: ManualClock()), large]
        let token = center.observe(OrderPaid.self, options: options) { [journal] in journal.note("\($0.amount)") }
        post(1, 11)
        #expect(journal.take() == ["11"])
        token.cancel()
    }

    @Test func `a post rejected by all filters is unobserved`() {
        center.hooks.unobserved = { [journal] in journal.note("unobserved \(($0.payload as? OrderPaid)?.amount ?? 0)") }
        let token = center.observe(OrderPaid.self, options: large) { [journal] in journal.note("\($0.amount)") }
        post(1, 11)
        #expect(journal.take() == ["unobserved 1", "11"])
        token.cancel()
    }

    @Test func `values are filtered`() {
        center.setValue(OrderPaid(amount: 1))
        let token = center.observe(OrderPaid.self, options: large) { [journal] in journal.note("\($0.amount)") }
        #expect(journal.take() == [])
        token.cancel()
    }
}
