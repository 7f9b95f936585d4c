import TestSupport
import Testing

@testable import NotifyCenter

/// A message type without a declared name.
struct Undeclared: NotificationMessage {
    let number: Int
}

/// Default names, and names from literals.
@Suite struct MessageNameTests {
    private let center = LocalCenter()
    private let journal = Journal()

    private struct Boxed<Value: Sendable>: NotificationMessage {
        let value: Value
    }

    @Test func `the default name is made of the module and the type`() {
        #expect(Undeclared.notificationName == "NotifyCenterTests.Undeclared")
        let token = center.observe(Undeclared.notificationName) { [journal] notification in
            journal.note("\((notification.payload as? Undeclared)?.number ?? 0)")
        }
        let typed = center.observe(Undeclared.self) { [journal] in journal.note("\($0.number)") }
        center.post(Undeclared(number: 3))
        #expect(journal.take() == ["3", "3"])
        withExtendedLifetime((token, typed)) {}
    }

    @Test func `private, local and generic types have distinct valid names`() throws {
        struct Local: NotificationMessage {}
        struct Other: NotificationMessage {}
        let names = [
            Undeclared.notificationName, Local.notificationName, Other.notificationName,
            Boxed<Int>.notificationName, Boxed<String>.notificationName, Boxed<[Int: Boxed<String>]>.notificationName,
        ]
        #expect(Set(names).count == names.count)
        for name in names { #expect(throws: Never.self) { try NotificationName(name.string) } }
        #expect(Boxed<Int>.notificationName == Boxed<Int>.notificationName)
    }

    @Test func `a literal is a name or a pattern, as the context requires`() {
        let name: NotificationName = "orders.paid"
        let pattern: NamePattern = "orders.*"
        #expect(pattern.matches(name))
        #expect(pattern.matches("orders.sent"))
        let patterns: [NamePattern] = ["orders.*", "users.>"]
        let token = center.observe(patterns) { [journal] in journal.note("\($0.name)") }
        center.post(name)
        #expect(journal.take() == ["orders.paid"])
        token.cancel()
    }

    @Test func `an invalid literal stops the program`() async {
        await #expect(processExitsWith: .failure) { _ = NotificationName("orders..paid") }
        await #expect(processExitsWith: .failure) { _ = NamePattern("orders.>.paid") }
    }

    @Test func `the object of a post overrides that of the message`() {
        let tokens = ["17", "18"].map { order in
            center.observe(OrderPaid.self, object: NotificationObject(order)) { [journal] in
                journal.note("\(order): \($0.amount)")
            }
        }
        center.post(OrderPaid(amount: 1, order: "17"), object: "18")
        #expect(journal.take() == ["18: 1"])
        center.setValue(OrderPaid(amount: 2, order: "17"), object: "18")
        #expect(journal.take() == ["18: 2"])
        #expect(center.value(of: OrderPaid.self, object: "18")?.amount == 2)
        withExtendedLifetime(tokens) {}
    }
}
