import TestSupport
import Testing

@testable import NotifyCenter

/// Other libraries extend `NSNotificationCenter` by owners, tokens and interception. Tests that this center has these
/// features, without the faults known from those libraries.
@Suite struct AdvancedCenterDesignTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "service.ready")

    /// An owner that registers its own handler.
    private final class Service: Sendable {
        let label: String
        let journal: Journal

        init(_ label: String, _ journal: Journal) {
            self.label = label
            self.journal = journal
        }

        func start(in center: LocalCenter) {
            center.observe(AdvancedCenterDesignTests.ready, owner: self) { service, _ in
                service.journal.note(service.label)
            }
        }
    }

    private static let ready = NotificationName(literal: "service.ready")

    // MARK: Features

    @Test func `observers need no removal`() {
        var service: Service? = Service("service", journal)
        service?.start(in: center)
        center.post(name)
        service = nil
        center.post(name)
        #expect(journal.take() == ["service"])
        #expect(center.observationCount == 0)
    }

    @Test func `a block observation ends with its token`() {
        var token: ObservationToken? = center.observe(name) { [journal] _ in journal.note("block") }
        center.post(name)
        withExtendedLifetime(token) {}
        token = nil
        center.post(name)
        #expect(journal.take() == ["block"])
    }

    @Test func `every post is intercepted before and after`() {
        let interception = center.intercept { [journal] notification, next in
            journal.note("before")
            next(notification)
            journal.note("after")
        }
        let token = center.observe(name) { [journal] _ in journal.note("observer") }
        center.post(name)
        #expect(journal.take() == ["before", "observer", "after"])
        withExtendedLifetime((interception, token)) {}
    }

    @Test func `handlers belong to an owner`() {
        let (one, two) = (Service("one", journal), Service("two", journal))
        one.start(in: center)
        two.start(in: center)
        center.post(name)
        #expect(journal.take() == ["one", "two"])
        center.removeObservations(of: one)
        center.post(name)
        #expect(journal.take() == ["two"])
    }

    // MARK: Faults

    @Test func `an observation does not keep its owner alive`() {
        var service: Service? = Service("service", journal)
        let gone = Weak(service)
        service?.start(in: center)
        center.post(name)
        #expect(journal.take() == ["service"])
        service = nil
        #expect(gone.isGone)
    }

    @Test func `registering twice does not replace the first observation`() {
        let service = Service("service", journal)
        service.start(in: center)
        service.start(in: center)
        center.post(name)
        #expect(journal.take() == ["service", "service"])
        // Only an observation with the same key is replaced.
        for label in ["first", "second"] {
            center.observe(name, owner: service, options: .key("handler")) { [journal] _, _ in journal.note(label) }
        }
        center.post(name)
        #expect(journal.take() == ["service", "service", "second"])
    }

    @Test func `posts by every method are intercepted`() throws {
        let interception = center.intercept { [journal] notification, next in
            journal.note(notification.payload.map { "\($0)" } ?? "-")
            next(notification)
        }
        center.post(name, payload: "by name")
        try center.post(name.string, payload: "by string")
        center.post(LocalNotification(name: name, payload: "by value"))
        center.post(OrderPaid(amount: 1))
        center.setValue("retained", for: name)
        // As NotifyFoundation posts a message.
        center.post(name, object: nil, message: "of a type without a name")
        #expect(
            journal.take() == [
                "by name", "by string", "by value", "OrderPaid(amount: 1, order: nil)", "retained",
                "of a type without a name",
            ])
        interception.cancel()
    }
}
