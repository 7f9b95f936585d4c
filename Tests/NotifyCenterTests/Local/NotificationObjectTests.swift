import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

@Suite struct NotificationObjectTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "window.closed")

    private func observe(_ object: NotificationObject, _ label: String) -> ObservationToken {
        center.observe(name, object: object) { [journal] _ in journal.note(label) }
    }

    private func posting(_ object: NotificationObject?) -> [String] {
        center.post(name, object: object)
        return journal.take()
    }

    // MARK: Texts

    @Test func `texts are equal if their bytes are equal`() {
        let tokens = [
            observe("caf\u{E9}", "composed"), observe("cafe\u{301}", "decomposed"), observe("", "empty"),
            observe(NotificationObject(String(repeating: "x", count: 10_000)), "long"),
        ]
        #expect(posting("caf\u{E9}") == ["composed"])
        #expect(posting("cafe\u{301}") == ["decomposed"])
        #expect(posting("") == ["empty"])
        #expect(posting(NotificationObject(String(repeating: "x", count: 10_000))) == ["long"])
        #expect(posting("Caf\u{E9}") == [])
        #expect(posting(nil) == [])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a computed text equals a literal`() {
        let number = 17
        #expect(NotificationObject("order-17") == "order-\(number)")
        #expect(NotificationObject("order-17").text == "order-17")
        #expect("\(NotificationObject("order-17"))" == "order-17")
    }

    // MARK: Values

    private struct Point: Hashable, Sendable {
        let x: Int
        let y: Int
    }

    /// Values with equal hashes.
    private struct Clashing: Hashable, Sendable {
        let id: Int

        func hash(into hasher: inout Hasher) {}
    }

    @Test func `values are equal if their types and values are equal`() {
        let tokens = [
            observe(NotificationObject(value: 1), "1"), observe(NotificationObject(value: 1.0), "1.0"),
            observe(NotificationObject(value: "1"), "text 1"), observe("1", "1 as text"),
            observe(NotificationObject(value: Point(x: 1, y: 2)), "point"),
        ]
        #expect(posting(NotificationObject(value: 1)) == ["1"])
        #expect(posting(NotificationObject(value: 1.0)) == ["1.0"])
        #expect(posting(NotificationObject(value: "1")) == ["text 1"])
        #expect(posting("1") == ["1 as text"])
        #expect(posting(NotificationObject(value: Point(x: 1, y: 2))) == ["point"])
        #expect(posting(NotificationObject(value: Point(x: 2, y: 1))) == [])
        #expect(posting(NotificationObject(value: UInt8(1))) == [])
        withExtendedLifetime(tokens) {}
    }

    @Test func `values with the same hash are distinguished`() {
        let tokens = (0..<10).map { observe(NotificationObject(value: Clashing(id: $0)), "\($0)") }
        for id in 0..<10 { #expect(posting(NotificationObject(value: Clashing(id: id))) == ["\(id)"]) }
        #expect(posting(NotificationObject(value: Clashing(id: 10))) == [])
        #expect(NotificationObject(value: Clashing(id: 1)) != NotificationObject(value: Clashing(id: 2)))
        withExtendedLifetime(tokens) {}
    }

    @Test func `a value is returned as its own type only`() {
        let object = NotificationObject(value: Point(x: 1, y: 2))
        #expect(object.value(as: Point.self) == Point(x: 1, y: 2))
        #expect(object.value(as: Int.self) == nil)
        #expect(object.text == nil)
        #expect(object.instance == nil)
        #expect(NotificationObject("17").value(as: String.self) == nil)
        #expect(NotificationObject(value: "17").text == nil)
        #expect("\(NotificationObject(value: 17))" == "17")
    }

    // MARK: Instances

    /// An instance that is equal to all other instances. A center must compare instances by identity.
    private final class Same: Hashable, Sendable {
        static func == (left: Same, right: Same) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    @Test func `an instance is equal to itself only`() {
        let (one, two) = (Same(), Same())
        let token = observe(NotificationObject(instance: one), "one")
        #expect(posting(NotificationObject(instance: one)) == ["one"])
        #expect(posting(NotificationObject(instance: two)) == [])
        #expect(posting(NotificationObject(value: one)) == [])
        #expect(NotificationObject(instance: one) == NotificationObject(instance: one))
        #expect(NotificationObject(instance: one) != NotificationObject(instance: two))
        #expect(NotificationObject(instance: one) != NotificationObject(value: one))
        #expect(NotificationObject(instance: one).instance === one)
        withExtendedLifetime((one, two, token)) {}
    }

    @Test func `an observation does not retain its instance and ends when the instance is released`() {
        var instance: Thing? = Thing()
        let gone = Weak(instance)
        let token = instance.map { observe(NotificationObject(instance: $0), "observer") }
        if let instance { #expect(posting(NotificationObject(instance: instance)) == ["observer"]) }
        instance = nil
        #expect(gone.isGone)
        #expect(center.observationCount == 0)
        #expect(token?.observation.isActive == false)
    }

    @Test func `the post cache does not retain an instance`() {
        var instance: Thing? = Thing()
        let gone = Weak(instance)
        let any = center.observe(name) { _ in }
        for _ in 0..<3 { center.post(name, object: instance.map { NotificationObject(instance: $0) }) }
        instance = nil
        #expect(gone.isGone)
        withExtendedLifetime(any) {}
    }

    @Test func `another instance at the same address is a different object`() {
        var tokens: [ObservationToken] = []
        var addresses: Set<ObjectIdentifier> = []
        var reused = 0
        for round in 0..<2_000 {
            // The instance is released at the end of each round, so that its address can be reused.
            let instance = Thing()
            if !addresses.insert(ObjectIdentifier(instance)).inserted { reused += 1 }
            #expect(posting(NotificationObject(instance: instance)) == [], "round \(round)")
            tokens.append(observe(NotificationObject(instance: instance), "\(round)"))
            #expect(posting(NotificationObject(instance: instance)) == ["\(round)"], "round \(round)")
        }
        // If no address was reused, the test would prove nothing.
        #expect(reused > 0)
        #expect(center.observationCount == 0)
    }

    @Test func `adding observations removes observations of released instances`() {
        var tokens: [ObservationToken] = []
        for _ in 0..<1_000 { tokens.append(observe(NotificationObject(instance: Thing()), "gone")) }
        let left = center.state.withLock { $0.core.registrationCount }
        #expect(left <= LocalCenter.smallestPruningInterval * 2)
    }

    // MARK: As a key

    @Test func `objects are distinguished in a set`() {
        let instance = Thing()
        let objects: [NotificationObject] = [
            "1", NotificationObject(value: 1), NotificationObject(value: "1"), NotificationObject(instance: instance),
            "1", NotificationObject(value: 1), NotificationObject(value: "1"), NotificationObject(instance: instance),
        ]
        #expect(Set(objects).count == 4)
    }
}
