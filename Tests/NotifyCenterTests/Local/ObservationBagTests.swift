import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct ObservationBagTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name: NotificationName = "orders.paid"

    private func fill(_ bag: ObservationBag) {
        center.observe(name) { [journal] _ in journal.note("first") }.store(in: bag)
        center.observe(name) { [journal] _ in journal.note("second") }.store(in: bag)
        center.intercept { [journal] notification, next in
            journal.note("intercepted")
            next(notification)
        }.store(in: bag)
    }

    @Test func `observations in a bag last until the bag is released`() {
        var bag: ObservationBag? = ObservationBag()
        if let bag { fill(bag) }
        center.post(name)
        #expect(journal.take() == ["intercepted", "first", "second"])
        #expect(bag?.count == 3)
        bag = nil
        center.post(name)
        #expect(journal.take() == [])
        #expect(center.observationCount == 0)
    }

    @Test func `an emptied bag can be filled again`() {
        let bag = ObservationBag()
        fill(bag)
        bag.cancelAll()
        center.post(name)
        #expect(journal.take() == [])
        fill(bag)
        center.post(name)
        #expect(journal.take() == ["intercepted", "first", "second"])
    }

    @Test func `ended observations do not accumulate`() {
        let bag = ObservationBag()
        var tokens: [Weak<ObservationToken>] = []
        for _ in 0..<1_000 {
            let token = center.observe(name, options: .once) { _ in }
            tokens.append(Weak(token))
            token.store(in: bag)
            center.post(name)
        }
        #expect(bag.count == 0)
        #expect(tokens.count { !$0.isGone } <= 32)
    }
}
