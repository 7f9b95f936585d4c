import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

/// Other libraries implement `NSNotificationCenter` anew. Tests that this center has its features, without the faults
/// known from those libraries. `NotifyFoundationTests` tests `queue:` and other parts of Foundation's interface.
@Suite struct NotificationCenterDesignTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "user.followed")

    private final class Controller: Sendable {
        let journal: Journal

        init(_ journal: Journal) { self.journal = journal }

        func didFollow(_ notification: LocalNotification) { journal.note("method \(notification.name)") }
    }

    private func note(_ label: String) -> @Sendable (LocalNotification) -> Void {
        { [journal] _ in journal.note(label) }
    }

    // MARK: Features

    @Test func `there is a default center, and further centers can be made`() {
        #expect(LocalCenter.default === LocalCenter.default)
        // A name that no other test uses, because the default center is shared.
        let name = NotificationName(literal: "NotificationCenterDesignTests.own")
        let token = LocalCenter.default.observe(name, using: note("default"))
        let own = center.observe(name, using: note("own"))
        center.post(name)
        #expect(journal.take() == ["own"])
        LocalCenter.default.post(name)
        #expect(journal.take() == ["default"])
        withExtendedLifetime((token, own)) {}
    }

    @Test func `a post takes a value, or a name, object and user info`() {
        let token = center.observe(name) { [journal] notification in
            let info = notification.payload as? [String: Int] ?? [:]
            journal.note("\(notification.name) \(notification.object?.text ?? "-") \(info["age"] ?? 0)")
        }
        let (young, old) = (["age": 30], ["age": 40])
        center.post(name, object: "alice", payload: young)
        center.post(LocalNotification(name: name, object: "bob", payload: old))
        center.post(name)
        #expect(journal.take() == ["user.followed alice 30", "user.followed bob 40", "user.followed - 0"])
        token.cancel()
    }

    @Test func `observers are methods or closures`() {
        let controller = Controller(journal)
        center.observe(name, owner: controller) { $0.didFollow($1) }
        let token = center.observe(name, using: note("closure"))
        center.post(name)
        #expect(journal.take() == ["method user.followed", "closure"])
        withExtendedLifetime((controller, token)) {}
    }

    @Test func `observations are removed by observer, name or object`() throws {
        let controller = Controller(journal)
        try center.observe("user.left", owner: controller) { $0.didFollow($1) }
        center.removeObservations(of: controller, names: NotificationName(literal: "user.left"))
        #expect(center.observations.isEmpty)
        let other = NotificationName(literal: "user.left")
        center.observe(name, owner: controller) { $0.didFollow($1) }
        center.observe(other, owner: controller) { $0.didFollow($1) }
        center.observe(other, object: "alice", owner: controller) { $0.didFollow($1) }
        center.removeObservations(of: controller, names: other, object: "alice")
        #expect(center.observations.map(\.names) == ["user.followed", "user.left"])
        center.removeObservations(of: controller, names: name)
        #expect(center.observations.map(\.names) == ["user.left"])
        center.removeObservations(of: controller)
        #expect(center.observations.isEmpty)
    }

    // MARK: Faults

    @Test func `a block without a queue is called`() {
        let token = center.observe(name, using: note("fired"))
        center.post(name)
        #expect(journal.take() == ["fired"])
        token.cancel()
    }

    @Test func `a block can be removed`() {
        let token = center.observe(name, using: note("block"))
        let other = center.observe(name, using: note("other"))
        token.cancel()
        center.post(name)
        #expect(journal.take() == ["other"])
        other.cancel()
    }

    @Test func `observations filter by object`() {
        let (alice, bob) = (Thing(), Thing())
        let tokens = [
            center.observe(name, object: NotificationObject(instance: alice), using: note("alice")),
            center.observe(name, object: "text", using: note("text")), center.observe(name, using: note("any")),
        ]
        center.post(name, object: NotificationObject(instance: alice))
        #expect(journal.take() == ["alice", "any"])
        center.post(name, object: NotificationObject(instance: bob))
        #expect(journal.take() == ["any"])
        center.post(name, object: "text")
        #expect(journal.take() == ["text", "any"])
        center.post(name)
        #expect(journal.take() == ["any"])
        withExtendedLifetime((alice, bob, tokens)) {}
    }

    @Test func `observers are held weakly`() {
        var controller: Controller? = Controller(journal)
        let gone = Weak(controller)
        if let controller { center.observe(name, owner: controller) { $0.didFollow($1) } }
        controller = nil
        #expect(gone.isGone)
        center.post(name)
        #expect(journal.take() == [])
    }

    @Test func `objects are held weakly`() {
        var object: Thing? = Thing()
        let gone = Weak(object)
        let token = object.map { center.observe(name, object: NotificationObject(instance: $0), using: note("called")) }
        if let object { center.post(name, object: NotificationObject(instance: object)) }
        object = nil
        #expect(gone.isGone)
        #expect(journal.take() == ["called"])
        withExtendedLifetime(token) {}
    }

    @Test func `observations may be removed during a post`() {
        let tokens = LateValue<[ObservationToken]>()
        tokens.value = (0..<100).map { index in
            center.observe(name) { [journal] _ in
                journal.note("\(index)")
                // The observer's own token and the tokens of both neighbours. The next observer has not been called
                // yet.
                for removed in [index, index - 1, index + 1] where (0..<100).contains(removed) {
                    tokens.value?[removed].cancel()
                }
            }
        }
        center.post(name)
        #expect(journal.take() == (0..<50).map { "\($0 * 2)" })
        #expect(center.observationCount == 0)
        tokens.value = nil
    }

    @Test func `an observer without a name gets every name`() throws {
        let token = center.observe(.every) { [journal] in journal.note($0.name.string) }
        center.post(name)
        try center.post("anything.else")
        center.post(NotificationName(unchecked: "UIKeyboard did show"))
        #expect(journal.take() == ["user.followed", "anything.else", "UIKeyboard did show"])
        token.cancel()
    }

    @Test func `entries of released observers are removed`() {
        for round in 0..<10_000 {
            let controller = Controller(journal)
            // The name is never posted, so no post finds that the owner has been released.
            let name = NotificationName(unchecked: "n\(round)")
            center.observe(name, owner: controller) { $0.didFollow($1) }
        }
        #expect(center.state.withLock { $0.core.registrationCount } <= 2 * LocalCenter.smallestPruningInterval)
        #expect(center.observations.isEmpty)
        #expect(center.state.withLock { $0.core.footprint } == 0)
    }
}
