import TestSupport
import Testing

@testable import NotifyCenter

/// Typed messages and invalid names.
@Suite struct NotificationMessageTests {
    private let center = LocalCenter()
    private let journal = Journal()

    private func observeName(_ label: String, object: NotificationObject? = nil) -> ObservationToken {
        center.observe(OrderPaid.notificationName, object: object) { [journal] notification in
            let message = notification.payload as? OrderPaid
            journal.note("\(label) \(notification.object?.text ?? "-") \(message?.amount ?? 0)")
        }
    }

    private func observeType(_ label: String, object: NotificationObject? = nil) -> ObservationToken {
        center.observe(OrderPaid.self, object: object) { [journal] in journal.note("\(label) \($0.amount)") }
    }

    // MARK: Observers of a type and of its name

    @Test func `observers of a type and of its name both get a message, in order`() throws {
        let tokens = [
            observeType("first"), observeName("second"), observeType("third"),
            try center.observe("orders.*") { [journal] in
                journal.note("pattern \(($0.payload as? OrderPaid)?.amount ?? 0)")
            },
            observeType("last"),
        ]
        center.post(OrderPaid(amount: 5))
        #expect(journal.take() == ["first 5", "second - 5", "third 5", "pattern 5", "last 5"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `observers of a type and of its name both get a message posted by name`() throws {
        let tokens = [observeType("type"), observeName("name")]
        let name = OrderPaid.notificationName
        center.post(name, payload: OrderPaid(amount: 5))
        try center.post(name.string, payload: OrderPaid(amount: 6))
        center.post(LocalNotification(name: name, payload: OrderPaid(amount: 7)))
        center.setValue(OrderPaid(amount: 8))
        #expect(
            journal.take() == [
                "type 5", "name - 5", "type 6", "name - 6", "type 7", "name - 7", "type 8", "name - 8",
            ])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a payload of another type does not reach observers of the type`() {
        let tokens = [observeType("type"), observeName("name")]
        center.post(OrderPaid.notificationName)
        center.post(OrderPaid.notificationName, payload: "5")
        center.post(OrderPaidAbroad(currency: "EUR"))
        #expect(journal.take() == ["name - 0", "name - 0", "name - 0"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `types with the same name are distinguished`() {
        let tokens = [
            observeType("here"),
            center.observe(OrderPaidAbroad.self) { [journal] in journal.note("abroad \($0.currency)") },
        ]
        center.post(OrderPaid(amount: 5))
        center.post(OrderPaidAbroad(currency: "EUR"))
        #expect(journal.take() == ["here 5", "abroad EUR"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a message's object is used for filtering`() {
        let tokens = [
            observeType("any"), observeType("17", object: "17"), observeName("name 17", object: "17"),
            observeType("18", object: "18"),
        ]
        center.post(OrderPaid(amount: 5, order: "17"))
        #expect(journal.take() == ["any 5", "17 5", "name 17 17 5"])
        center.post(OrderPaid(amount: 6))
        #expect(journal.take() == ["any 6"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a nil payload is nil, and an optional payload is unwrapped`() {
        let name = OrderPaid.notificationName
        #expect(LocalNotification(name: name).payload == nil)
        #expect(LocalNotification(name: name, payload: nil).payload == nil)
        #expect(LocalNotification(name: name, payload: 0).payload as? Int == 0)
        #expect(LocalNotification(name: name, payload: Optional.some(7)).payload as? Int == 7)
    }

    // MARK: Names that break a rule

    static let badNames = ["", ".", "a.", ".a", "a..b", "a b", "a\u{0}", String(repeating: "x", count: 256)]
    static let wildcards = ["*", ">", "a.*", "a.>"]

    @Test(arguments: badNames)
    func `an invalid name throws at registration and at posting`(_ bad: String) {
        let owner = Thing()
        #expect(throws: NameError.self) { try center.observe(bad) { _ in } }
        #expect(throws: NameError.self) { try center.observe(bad, owner: owner) { _, _ in } }
        #expect(throws: NameError.self) { try center.post(bad) }
        #expect(throws: NameError.self) { try NotificationName(bad) }
        #expect(center.observationCount == 0)
    }

    @Test(arguments: wildcards)
    func `a wildcard can be observed but not posted`(_ pattern: String) throws {
        let token = try center.observe(pattern) { [journal] in journal.note($0.name.string) }
        let error = #expect(throws: NameError.self) { try center.post(pattern) }
        #expect(error?.code == .wildcardInName)
        #expect(journal.take() == [])
        token.cancel()
    }

    @Test func `a tail wildcard before the end throws at registration`() {
        let error = #expect(throws: NameError.self) { try center.observe("a.>.b") { _ in } }
        #expect(error?.code == .misplacedTailWildcard)
        #expect(error?.isPattern == true)
        #expect(center.observationCount == 0)
    }

    @Test func `a post that throws reaches no observers, hooks or interceptors`() {
        let token = center.observe(.every) { [journal] _ in journal.note("observer") }
        let interceptor = center.intercept { [journal] notification, next in journal.note("interceptor") }
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        #expect(throws: NameError.self) { try center.post("a..b") }
        #expect(journal.take() == [])
        withExtendedLifetime((token, interceptor)) {}
    }
}
