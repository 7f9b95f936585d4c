import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

/// Observations with an owner. `LocalCenterTests` covers the release of owners.
@Suite struct OwnerTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.paid")

    /// An owner whose methods are called by observations.
    private final class Controller: Sendable {
        let journal: Journal
        let label: String

        init(_ label: String, _ journal: Journal) {
            self.label = label
            self.journal = journal
        }

        func didPay(_ notification: LocalNotification) { journal.note("\(label) \(notification.name)") }
        func didPayMessage(_ message: OrderPaid) { journal.note("\(label) \(message.amount)") }
        func refuses(_ notification: LocalNotification) throws { throw Refused() }
    }

    private struct Refused: Error {}

    // MARK: Methods

    @Test func `a method of the owner is called for names, patterns, types and objects`() throws {
        let owner = Controller("owner", journal)
        center.observe(name, owner: owner) { $0.didPay($1) }
        try center.observe("a.*", owner: owner) { $0.didPay($1) }
        center.observe(OrderPaid.self, object: "17", owner: owner) { $0.didPayMessage($1) }
        center.post(OrderPaid(amount: 5, order: "17"))
        #expect(journal.take() == ["owner orders.paid", "owner 5"])
        center.post(OrderPaid(amount: 6))
        try center.post("a.b")
        #expect(journal.take() == ["owner orders.paid", "owner a.b"])
    }

    /// The compiler must not select the overload for the main actor. That overload would call the method later.
    @Test func `a nonisolated method is called by the poster, also with an object written as .init`() throws {
        let owner = Controller("owner", journal)
        center.observe(name, object: .init(instance: owner), owner: owner) { $0.didPay($1) }
        center.observe(.every, object: .init(value: 17), owner: owner, options: .init()) { $0.didPay($1) }
        try center.observe("orders.*", object: .init(value: 17), owner: owner) { $0.didPay($1) }
        center.observe(
            OrderPaid.self, object: .init(value: 17), owner: owner, options: .once
        ) { $0.didPayMessage($1) }
        center.post(name, object: .init(instance: owner))
        #expect(journal.take() == ["owner orders.paid"])
        center.post(name, object: .init(value: 17), payload: OrderPaid(amount: 5))
        #expect(journal.take() == ["owner orders.paid", "owner orders.paid", "owner 5"])
    }

    @Test func `a method does not retain its owner and belongs to that owner`() {
        var first: Controller? = Controller("first", journal)
        let gone = Weak(first)
        let second = Controller("second", journal)
        if let first { center.observe(name, owner: first) { $0.didPay($1) } }
        center.observe(name, owner: second) { $0.didPay($1) }
        center.post(name)
        #expect(journal.take() == ["first orders.paid", "second orders.paid"])
        first = nil
        #expect(gone.isGone)
        center.post(name)
        #expect(journal.take() == ["second orders.paid"])
        #expect(center.observationCount == 1)
    }

    @Test func `an error of a method is reported`() {
        center.hooks.failed = { [journal] in journal.note("failed \(type(of: $0.error))") }
        let owner = Controller("owner", journal)
        center.observe(name, owner: owner) { try $0.refuses($1) }
        center.observe(name, owner: owner) { $0.didPay($1) }
        center.post(name)
        #expect(journal.take() == ["failed Refused", "owner orders.paid"])
    }

    // MARK: Ending

    @Test func `all observations of an owner end together, others stay`() throws {
        let (owner, other) = (Controller("owner", journal), Controller("other", journal))
        for each in [owner, other, owner] {
            center.observe(name, owner: each) { $0.didPay($1) }
            try center.observe("orders.>", object: "17", owner: each) { $0.didPay($1) }
            center.observe(OrderPaid.self, owner: each) { $0.didPayMessage($1) }
        }
        let token = center.observe(name) { [journal] _ in journal.note("token") }
        center.removeObservations(of: owner)
        #expect(center.observationCount == 4)
        center.post(OrderPaid(amount: 1, order: "17"))
        #expect(journal.take() == ["other orders.paid", "other orders.paid", "other 1", "token"])
        center.removeObservations(of: owner)
        center.removeObservations(of: Thing())
        #expect(center.observationCount == 4)
        token.cancel()
    }

    @Test func `an owner's observations can be ended by name or object`() throws {
        let owner = Controller("owner", journal)
        let pattern = NamePattern("orders.*")
        center.observe(name, owner: owner) { $0.didPay($1) }
        center.observe(name, object: "17", owner: owner) { $0.didPay($1) }
        center.observe(pattern, owner: owner) { $0.didPay($1) }
        center.removeObservations(of: owner, names: NotificationName(literal: "orders"))
        center.removeObservations(of: owner, object: "18")
        #expect(center.observationCount == 3)
        center.removeObservations(of: owner, object: "17")
        #expect(center.observations.map(\.object) == [nil, nil])
        center.removeObservations(of: owner, names: pattern)
        #expect(center.observations.map(\.names) == ["orders.paid"])
        center.removeObservations(of: owner, names: name)
        #expect(center.observationCount == 0)
    }

    /// Unequal values with equal hashes.
    private struct Colliding: Hashable, Sendable {
        let number: Int

        func hash(into hasher: inout Hasher) {}
    }

    @Test func `only observations of an equal value end, not of an equal hash`() {
        let owner = Controller("owner", journal)
        for number in 1...3 {
            center.observe(
                name, object: NotificationObject(value: Colliding(number: number)), owner: owner
            ) { $0.didPay($1) }
        }
        center.removeObservations(of: owner, object: NotificationObject(value: Colliding(number: 2)))
        #expect(center.observations.map(\.object) == ["Colliding(number: 1)", "Colliding(number: 3)"])
    }

    @Test func `an owner may end its observations while it is released`() {
        final class Tidy: Sendable {
            let center: LocalCenter
            init(_ center: LocalCenter) { self.center = center }
            deinit { center.removeObservations(of: self) }
        }
        var owner: Tidy? = Tidy(center)
        if let owner { center.observe(name, owner: owner) { [journal] _, _ in journal.note("called") } }
        owner = nil
        #expect(center.state.withLock { $0.core.registrationCount } == 0)
        center.post(name)
        #expect(journal.take() == [])
    }

    // MARK: Reuse of an address

    @Test func `a new owner at the same address inherits no observations`() {
        var addresses: Set<ObjectIdentifier> = []
        var reused = 0
        for round in 0..<1_000 {
            let owner = Thing()
            if !addresses.insert(ObjectIdentifier(owner)).inserted { reused += 1 }
            center.observe(name, owner: owner) { [journal] _, _ in journal.note("\(round)") }
            // The name "never" is not posted, so only additions and removals can end this observation.
            center.observe(NotificationName(literal: "never"), owner: owner) { _, _ in }
            // No registration of an earlier owner at this address is left.
            #expect(center.state.withLock { $0.core.registrationCount } <= 2 * addresses.count)
            center.post(name)
            #expect(journal.take() == ["\(round)"])
            if round % 2 == 0 {
                center.removeObservations(of: owner)
                center.post(name)
                #expect(journal.take() == [])
            }
        }
        // If no address was reused, the test would prove nothing.
        #expect(reused > 0)
        #expect(center.observationCount == 0)
    }

    @Test func `an owner may observe several centers`() {
        let owner = Controller("owner", journal)
        let other = LocalCenter()
        center.observe(name, owner: owner) { $0.didPay($1) }
        other.observe(name, owner: owner) { $0.didPay($1) }
        other.removeObservations(of: owner)
        other.post(name)
        #expect(journal.take() == [])
        center.post(name)
        #expect(journal.take() == ["owner orders.paid"])
    }
}
