import Synchronization
import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

@Suite struct LocalCenterTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.created")

    private final class Owner: Sendable {}

    @Test func `observers get the name, object and payload`() throws {
        let token = center.observe(name) { [journal] notification in
            journal.note(
                "\(notification.name) \(notification.object?.text ?? "-") \(notification.payload as? Int ?? 0)")
        }
        center.post(name, object: "42", payload: 7)
        center.post(name)
        center.post(LocalNotification(name: name, payload: "no number"))
        #expect(journal.take() == ["orders.created 42 7", "orders.created - 0", "orders.created - 0"])
        token.cancel()
    }

    @Test func `exact names may break the naming rules`() {
        let odd = NotificationName(unchecked: "UIKeyboard Did Show.*")
        let token = center.observe(odd) { [journal] in journal.note($0.name.string) }
        center.post(odd)
        center.post(NotificationName(unchecked: "UIKeyboard Did Show.x"))
        #expect(journal.take() == ["UIKeyboard Did Show.*"])
        token.cancel()
    }

    // MARK: Tokens

    @Test func `an observation ends with its token`() {
        var token: ObservationToken? = center.observe(name) { [journal] _ in journal.note("called") }
        center.post(name)
        #expect(journal.take() == ["called"])
        #expect(token != nil)
        token = nil
        center.post(name)
        #expect(journal.take() == [])
        #expect(center.observationCount == 0)
    }

    @Test func `cancelling a token twice does not affect other observations`() {
        let first = center.observe(name) { [journal] _ in journal.note("first") }
        first.cancel()
        let second = center.observe(name) { [journal] _ in journal.note("second") }
        first.cancel()
        center.post(name)
        #expect(journal.take() == ["second"])
        second.cancel()
        #expect(center.observationCount == 0)
    }

    @Test func `the closure is released with the token`() {
        var captured: Owner? = Owner()
        let watched = Weak(captured)
        let token = center.observe(name) { [captured] _ in withExtendedLifetime(captured) {} }
        center.post(name)
        captured = nil
        #expect(watched.value != nil)
        token.cancel()
        #expect(watched.value == nil)
    }

    @Test func `a closure may end other observations while it is released`() {
        final class Chain: Sendable {
            let next: ObservationToken?
            init(_ next: ObservationToken?) { self.next = next }
        }
        var token: ObservationToken?
        for _ in 0..<100 {
            let chain = Chain(token)
            token = center.observe(name) { _ in withExtendedLifetime(chain) {} }
        }
        center.post(name)
        #expect(center.observationCount == 100)
        token = nil
        #expect(center.observationCount == 0)
    }

    // MARK: Owners

    @Test func `an owner is passed to its closure`() {
        let owner = Owner()
        center.observe(name, owner: owner) { [journal] handed, notification in
            journal.note("\(notification.name) \(ObjectIdentifier(handed))")
        }
        center.post(name)
        #expect(journal.take() == ["orders.created \(ObjectIdentifier(owner))"])
    }

    @Test func `owners are held weakly and end their observations`() throws {
        var owner: Owner? = Owner()
        let watched = Weak(owner)
        if let owner {
            center.observe(name, owner: owner) { [journal] _, _ in journal.note("name") }
            center.observe([NamePattern("orders.*"), NamePattern("x")], owner: owner) { [journal] _, _ in
                journal.note("patterns")
            }
            center.observe(.every, owner: owner) { [journal] _, _ in journal.note("every") }
        }
        center.post(name)
        #expect(journal.take() == ["name", "patterns", "every"])
        owner = nil
        #expect(watched.value == nil)
        center.post(name)
        #expect(journal.take() == [])
    }

    @Test func `a post releases the closure of a released owner`() {
        var captured: Owner? = Owner()
        let watched = Weak(captured)
        var owner: Owner? = Owner()
        if let owner { center.observe(name, owner: owner) { [captured] _, _ in withExtendedLifetime(captured) {} } }
        captured = nil
        owner = nil
        #expect(watched.value != nil)
        center.post(name)
        #expect(watched.value == nil)
    }

    @Test func `adding observations removes observations of released owners`() throws {
        let captured = Mutex<[Weak<Owner>]>([])
        for index in 0..<10_000 {
            let box = Owner()
            captured.withLock { $0.append(Weak(box)) }
            let owner = Owner()
            center.observe(try NotificationName("n\(index)"), owner: owner) { _, _ in withExtendedLifetime(box) {} }
        }
        let alive = captured.withLock { $0.count { $0.value != nil } }
        #expect(alive <= 64)
        #expect(center.observationCount == 0)
    }

    @Test func `an owner may be released during the post`() {
        let owner = LateValue<Owner>()
        owner.value = Owner()
        let token = center.observe(name) { _ in owner.value = nil }
        if let owner = owner.value { center.observe(name, owner: owner) { [journal] _, _ in journal.note("owned") } }
        center.post(name)
        #expect(journal.take() == [])
        #expect(center.observationCount == 1)
        token.cancel()
    }

    @Test func `an owner may post and cancel while it is released`() {
        final class Careful: Sendable {
            let center: LocalCenter
            let token: ObservationToken
            init(center: LocalCenter, journal: Journal) {
                self.center = center
                token = center.observe(NamePattern.everyName) { journal.note($0.name.string) }
            }
            deinit { center.post(NotificationName(literal: "goodbye")) }
        }
        var owner: Careful? = Careful(center: center, journal: journal)
        if let owner { center.observe(name, owner: owner) { [journal] _, _ in journal.note("owned") } }
        center.post(name)
        owner = nil
        center.post(name)
        #expect(journal.take() == ["orders.created", "owned", "goodbye"])
        #expect(center.observationCount == 0)
    }
}
