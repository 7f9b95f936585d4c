import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct CenterHooksTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.paid")

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private func note(_ label: String) -> @Sendable (LocalNotification) -> Void {
        { [journal] _ in journal.note(label) }
    }

    // MARK: Unobserved posts

    @Test func `an unobserved post is reported with its contents`() throws {
        center.hooks.unobserved = { [journal] in
            journal.note("\($0.name) \($0.object?.text ?? "-") \($0.payload.map { "\($0)" } ?? "-")")
        }
        let others = [center.observe(NotificationName(literal: "other"), using: note("other"))]
        let object = center.observe(name, object: "17", using: note("17"))
        center.post(name, object: "18", payload: 1)
        try center.post("orders.lost")
        center.post(LocalNotification(name: name))
        center.post(OrderPaid(amount: 7))
        center.setValue(2, for: name)
        #expect(
            journal.take() == [
                "orders.paid 18 1", "orders.lost - -", "orders.paid - -",
                "orders.paid - OrderPaid(amount: 7, order: nil)",
                "orders.paid - 2",
            ])
        center.post(name, object: "17")
        #expect(journal.take() == ["17"])
        withExtendedLifetime((others, object)) {}
    }

    @Test func `an observer of a type does not observe other payloads`() {
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        let token = center.observe(OrderPaid.self) { [journal] _ in journal.note("observer") }
        center.post(OrderPaid.notificationName, payload: "another payload")
        #expect(journal.take() == ["unobserved"])
        center.post(OrderPaid.notificationName, payload: OrderPaid(amount: 1))
        center.post(OrderPaid(amount: 2))
        #expect(journal.take() == ["observer", "observer"])
        withExtendedLifetime(token) {}
    }

    @Test func `async observers and readers of a type do not observe other payloads`() {
        center.hooks.unobserved = { [journal] in journal.note("unobserved \($0.payload ?? "-")") }
        let token = center.observe(OrderPaid.self, on: .serially) { _ in }
        center.post(OrderPaid.notificationName, payload: "another payload")
        center.post(OrderPaid(amount: 1))
        #expect(journal.take() == ["unobserved another payload"])
        token.cancel()
        let messages = center.messages(of: OrderPaid.self)
        center.post(OrderPaid.notificationName, payload: "another payload")
        center.post(OrderPaid(amount: 2))
        #expect(journal.take() == ["unobserved another payload"])
        withExtendedLifetime(messages) {}
    }

    /// Different values with the same hash.
    private struct Colliding: Hashable, Sendable {
        let number: Int

        func hash(into hasher: inout Hasher) {}
    }

    @Test func `an observer of another value with the same hash does not observe the post`() {
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        let token = center.observe(name, object: NotificationObject(value: Colliding(number: 1)), using: note("1"))
        for number in 1...2 { center.post(name, object: NotificationObject(value: Colliding(number: number))) }
        #expect(journal.take() == ["1", "unobserved"])
        token.cancel()
    }

    @Test func `a post to released, ended and paused observers is unobserved`() {
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        var owner: Thing? = Thing()
        if let owner { center.observe(name, owner: owner) { [journal] _, _ in journal.note("owner") } }
        center.post(name)
        #expect(journal.take() == ["owner"])
        owner = nil
        center.post(name)
        #expect(journal.take() == ["unobserved"])
        #expect(center.observationCount == 0)

        let token = center.observe(name, using: note("observer"))
        token.pause()
        center.post(name)
        #expect(journal.take() == ["unobserved"])
        token.resume()
        center.post(name)
        token.cancel()
        center.post(name)
        #expect(journal.take() == ["observer", "unobserved"])
    }

    @Test func `a removed hook is not called`() {
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        center.hooks.unobserved = nil
        center.post(name)
        #expect(journal.take() == [])
        #expect(center.canTakeFastPath)
    }

    @Test func `removing a hook or an interceptor does not affect the other`() {
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        let watch = { [center, journal] in
            center.intercept { notification, next in
                journal.note("watched")
                next(notification)
            }
        }
        let first = watch()
        center.post(name)
        first.cancel()
        center.post(name)
        #expect(journal.take() == ["watched", "unobserved", "unobserved"])
        let second = watch()
        center.hooks.unobserved = nil
        center.post(name)
        #expect(journal.take() == ["watched"])
        withExtendedLifetime(second) {}
    }

    @Test func `a hook may observe the reported name`() {
        let token = LateValue<ObservationToken>()
        center.hooks.unobserved = { [center, journal] notification in
            journal.note("unobserved")
            token.value = center.observe(notification.name) { _ in journal.note("observer") }
        }
        center.post(name)
        center.post(name)
        #expect(journal.take() == ["unobserved", "observer"])
        token.value = nil
        center.hooks.unobserved = nil
    }

    // MARK: Errors of observers

    @Test func `an error of an observer is reported and the other observers are called`() {
        center.hooks.failed = { [journal] failure in
            let payload = failure.notification.payload as? Int ?? 0
            journal.note("\(failure.error) \(failure.notification.name) \(payload)")
        }
        let first = center.observe(name) { _ in throw Failure(description: "first") }
        let second = center.observe(name, using: note("second"))
        let third = center.observe(name) { _ in throw Failure(description: "third") }
        let owner = Thing()
        center.observe(name, owner: owner) { _, _ in throw Failure(description: "owned") }
        let last = center.observe(name, using: note("last"))
        let notes = ["first orders.paid 7", "second", "third orders.paid 7", "owned orders.paid 7", "last"]
        center.post(name, payload: 7)
        #expect(journal.take() == notes)
        center.post(name, payload: 7)
        #expect(journal.take() == notes)
        withExtendedLifetime((first, second, third, last)) {}
    }

    @Test func `an error of a typed observer is reported with the message as payload`() {
        center.hooks.failed = { [journal] in
            journal.note("\($0.error) \(($0.notification.payload as? OrderPaid)?.amount ?? 0)")
        }
        let owner = Thing()
        let token = center.observe(OrderPaid.self) { _ in throw Failure(description: "closure") }
        center.observe(OrderPaid.self, owner: owner) { _, _ in throw Failure(description: "owned") }
        let last = center.observe(name, using: note("last"))
        center.post(OrderPaid(amount: 7))
        #expect(journal.take() == ["closure 7", "owned 7", "last"])
        center.post(name, payload: OrderPaid(amount: 8))
        #expect(journal.take() == ["closure 8", "owned 8", "last"])
        withExtendedLifetime((token, last)) {}
    }

    @Test func `a failure has the source location of the registration`() {
        center.hooks.failed = { [journal] in journal.note("\($0)") }
        let line = #line + 1
        let token = center.observe(name) { _ in throw Failure(description: "no money") }
        center.post(name)
        let place = "NotifyCenterTests/CenterHooksTests.swift:\(line)"
        #expect(
            journal.take() == [
                "NotifyCenter: the observer registered at \(place) threw an error for 'orders.paid': no money"
            ])
        token.cancel()
    }

    @Test func `a once observation that throws has ended`() {
        center.hooks.failed = { [journal] _ in journal.note("failed") }
        let token = center.observe(name, options: .once) { _ in throw Failure(description: "once") }
        center.post(name)
        center.post(name)
        #expect(journal.take() == ["failed"])
        #expect(!token.observation.isActive)
    }

    // MARK: Repeated observations

    /// Registers observations at a single source location.
    private func observe(_ name: NotificationName, owner: Thing, object: NotificationObject? = nil, key: String? = nil)
    {
        center.observe(name, object: object, owner: owner, options: key.map { .key($0) } ?? []) { _, _ in }
    }

    @Test func `a repeated observation is reported once per owner and source location`() {
        center.hooks.repeated = { [journal] in journal.note("\($0.ownerType) \($0.names)") }
        let owner = Thing()
        observe(name, owner: owner)
        #expect(journal.take() == [])
        observe(name, owner: owner)
        #expect(journal.take() == ["Thing orders.paid"])
        for _ in 0..<100 { observe(name, owner: owner) }
        #expect(journal.take() == [])

        for _ in 0..<100 { center.observe(name, owner: owner) { _, _ in } }
        #expect(journal.take() == ["Thing orders.paid"])
        let other = Thing()
        for _ in 0..<100 { observe(name, owner: other) }
        #expect(journal.take() == ["Thing orders.paid"])
    }

    @Test func `a repetition is reported again for a new owner at the same address`() {
        center.hooks.repeated = { [journal] _ in journal.note("repeated") }
        var addresses: Set<ObjectIdentifier> = []
        for _ in 0..<100 {
            let owner = Thing()
            addresses.insert(ObjectIdentifier(owner))
            for _ in 0..<2 { observe(name, owner: owner) }
            #expect(journal.take() == ["repeated"])
        }
        // If no address was reused, the test would prove nothing.
        #expect(addresses.count < 100)
    }

    @Test func `different observations are not repetitions`() throws {
        center.hooks.repeated = { [journal] in journal.note("\($0)") }
        let owner = Thing()
        for index in 0..<100 { observe(try NotificationName("n.\(index)"), owner: owner) }
        for index in 0..<100 { observe(name, owner: owner, object: "\(index)") }
        for index in 0..<100 { observe(name, owner: owner, key: "\(index)") }
        for _ in 0..<100 { observe(name, owner: Thing()) }
        // Each instance is released before the next one is made, so two instances may have the same address.
        for _ in 0..<100 { observe(name, owner: owner, object: NotificationObject(instance: Thing())) }
        for _ in 0..<100 {
            let token = center.observe(name) { _ in }
            token.cancel()
        }
        let another = Thing()
        center.observe(name, owner: another, fileID: "One/File.swift", line: 1) { _, _ in }
        center.observe(name, owner: another, fileID: "Other/File.swift", line: 1) { _, _ in }
        center.observe(name, owner: another, fileID: "One/File.swift", line: 2) { _, _ in }
        // Each observation ends before the next one begins.
        for _ in 0..<100 { center.observe(name, owner: another) { _, _ in }.cancel() }
        #expect(journal.take() == [])
    }

    @Test func `a repetition has the owner, the observed names and the source location`() {
        center.hooks.repeated = { [journal] in journal.note("\($0)") }
        let owner = Thing()
        let line = #line + 2
        for _ in 0..<2 {
            center.observe([NamePattern.everyName], owner: owner) { _, _ in }
        }
        let place = "NotifyCenterTests/CenterHooksTests.swift:\(line)"
        #expect(
            journal.take() == [
                "NotifyCenter: an owner of type Thing repeatedly registers the same observation of '>' at \(place); "
                    + "register it once, or give it a key"
            ])
    }

    // MARK: Releasing

    @Test func `hooks may use the center, also while they are released`() {
        final class Careful: Sendable {
            let center: LocalCenter
            init(_ center: LocalCenter) { self.center = center }
            deinit { center.removeAllObservations() }
        }
        var careful: Careful? = Careful(center)
        let gone = Weak(careful)
        center.hooks.failed = { [careful] failure in careful?.center.clear(matching: .every) }
        careful = nil
        let token = center.observe(name) { _ in throw Failure(description: "") }
        center.setValue(nil, for: name)
        #expect(center.value(of: name) == nil)
        #expect(center.observationCount == 1)
        center.hooks = CenterHooks()
        #expect(gone.isGone)
        #expect(center.observationCount == 0)
        withExtendedLifetime(token) {}
    }

    @Test func `the captures of a hook are released with it`() {
        var captured: Thing? = Thing()
        let gone = Weak(captured)
        center.hooks.unobserved = { [captured] _ in withExtendedLifetime(captured) {} }
        captured = nil
        center.post(name)
        #expect(!gone.isGone)
        center.hooks = CenterHooks()
        #expect(gone.isGone)
    }
}
