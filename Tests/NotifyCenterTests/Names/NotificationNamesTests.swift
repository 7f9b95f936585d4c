import Testing

@testable import NotifyCenter

@Suite struct NotificationNamesTests {
    private let name = NotificationName(literal: "orders.paid")

    @Test func `every form of a name selects the same name`() throws {
        let written: [any NotificationNames] = [
            name, NamePattern("orders.paid"), NamePattern(name), [name], [NamePattern(name)], [[name]], "orders.paid",
            ["orders.paid"],
        ]
        for names in written { #expect(try names.observedNames == name.observedNames) }
    }

    @Test func `an array selects the union of its elements`() throws {
        let center = LocalCenter()
        let names = [name, NotificationName(literal: "orders.lost")].observedNames
        #expect(names.matches(name) && names.matches(NotificationName(literal: "orders.lost")))
        #expect(!names.matches(NotificationName(literal: "orders.sent")))

        let calls = Collector<String>()
        let overlapping = [NamePattern("orders.*"), NamePattern(name)]
        let token = center.observe(overlapping) { calls.add($0.name.string) }
        try center.post("orders.paid")
        try center.post("orders.lost")
        #expect(calls.values == ["orders.paid", "orders.lost"])
        withExtendedLifetime(token) {}
    }

    @Test func `an empty array selects nothing`() {
        let center = LocalCenter()
        let calls = Collector<String>()
        let token = center.observe([NotificationName]()) { calls.add($0.name.string) }
        center.post(name)
        #expect(calls.values.isEmpty)
        withExtendedLifetime(token) {}
    }
}
