import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct InterceptorTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.paid")

    /// Adds an interceptor that notes every notification and passes it on.
    private func watch(_ label: String) -> InterceptionToken {
        center.intercept { [journal] notification, next in
            journal.note("\(label) \(notification.name)")
            next(notification)
        }
    }

    private func observe(_ name: NotificationName, _ label: String) -> ObservationToken {
        center.observe(name) { [journal] notification in
            let parts = [label, notification.object?.description, notification.payload.map { "\($0)" }]
            journal.note(parts.compactMap(\.self).joined(separator: " "))
        }
    }

    // MARK: Order

    @Test func `interceptors wrap the observers in order of addition`() {
        let tokens = ["outer", "inner"].map { label in
            center.intercept { [journal] notification, next in
                journal.note("before \(label)")
                next(notification)
                journal.note("after \(label)")
            }
        }
        let observer = observe(name, "observer")
        center.post(name)
        #expect(journal.take() == ["before outer", "before inner", "observer", "after inner", "after outer"])
        withExtendedLifetime((tokens, observer)) {}
    }

    @Test func `a post by an interceptor passes all interceptors`() throws {
        let other = NotificationName(literal: "other")
        let first = watch("first")
        let second = center.intercept { [name, center] notification, next in
            if notification.name == name { center.post(other) }
            next(notification)
        }
        let observers = [observe(name, "name"), observe(other, "other")]
        center.post(name)
        #expect(journal.take() == ["first orders.paid", "first other", "other", "name"])
        withExtendedLifetime((first, second, observers)) {}
    }

    // MARK: Observing, changing and stopping posts

    @Test func `an interceptor sees unobserved posts`() {
        let token = watch("watched")
        center.post(name)
        #expect(journal.take() == ["watched orders.paid"])
        token.cancel()
    }

    @Test func `a change by an interceptor reaches later interceptors and the observers`() {
        let changed = NotificationName(literal: "changed")
        let first = center.intercept { notification, next in
            next(LocalNotification(name: changed, object: "new", payload: 2))
        }
        let second = watch("second")
        let observers = [observe(name, "name"), observe(changed, "changed")]
        center.post(name, object: "old", payload: 1)
        #expect(journal.take() == ["second changed", "changed new 2"])
        withExtendedLifetime((first, second, observers)) {}
    }

    @Test func `observers of a type get a message replaced by an interceptor`() {
        let token = center.intercept { notification, next in
            guard let paid = notification.payload as? OrderPaid else { return next(notification) }
            next(LocalNotification(name: notification.name, payload: OrderPaid(amount: paid.amount * 2)))
        }
        let observer = center.observe(OrderPaid.self) { [journal] in journal.note("\($0.amount)") }
        center.post(OrderPaid(amount: 21))
        #expect(journal.take() == ["42"])
        withExtendedLifetime((token, observer)) {}
    }

    @Test func `a typed interceptor changes messages and keeps name and object`() {
        let tokens = [
            center.intercept(OrderPaid.self) { paid, next in
                if paid.amount > 0 { next(OrderPaid(amount: paid.amount * 2)) }
            },
            center.intercept { notification, next in
                next(notification.payload is Int ? notification.replacing(payload: 3) : notification)
            },
        ]
        let observers = [
            center.observe(OrderPaid.self, object: "17") { [journal] in journal.note("\($0.amount)") },
            observe(name, "name"),
        ]
        center.post(OrderPaid(amount: 21, order: "17"))
        center.post(OrderPaid(amount: 0, order: "17"))
        center.post(name, object: "other", payload: 1)
        #expect(journal.take() == ["42", "name 17 OrderPaid(amount: 42, order: nil)", "name other 3"])
        withExtendedLifetime((tokens, observers)) {}
    }

    @Test func `an interceptor that does not call next stops the post`() {
        let token = center.intercept { notification, next in if notification.object != "secret" { next(notification) } }
        let last = watch("last")
        let observer = observe(name, "observer")
        center.hooks.unobserved = { [journal] _ in journal.note("unobserved") }
        center.post(name, object: "secret")
        #expect(journal.take() == [])
        center.post(name, object: "open")
        #expect(journal.take() == ["last orders.paid", "observer open"])
        withExtendedLifetime((token, last, observer)) {}
    }

    @Test func `an interceptor that calls next twice posts twice`() {
        let token = center.intercept { notification, next in
            next(notification)
            next(notification)
        }
        let observer = observe(name, "observer")
        center.post(name)
        #expect(journal.take() == ["observer", "observer"])
        withExtendedLifetime((token, observer)) {}
    }

    // MARK: Every method of posting

    enum PostMethod: CaseIterable {
        case byName, byString, byValue, typed, valueByName, value, typedValue, ofAnotherLibrary, later

        func post(in center: LocalCenter) throws {
            let name = OrderPaid.notificationName
            let message = OrderPaid(amount: 7, order: "17")
            let notification = LocalNotification(name: name, object: "17", payload: message)
            switch self {
            case .byName: center.post(name, object: "17", payload: message)
            case .byString: try center.post(name.string, object: "17", payload: message)
            case .byValue: center.post(notification)
            case .typed: center.post(message)
            case .valueByName: center.setValue(message, for: name, object: "17")
            case .value: center.setValue(notification)
            case .typedValue: center.setValue(message)
            case .ofAnotherLibrary: center.post(name, object: "17", message: message)
            case .later:
                let executor = ManualExecutor()
                PostQueue(center: center, executor: executor.execute).enqueue(notification)
                executor.endTurn()
            }
        }
    }

    @Test(arguments: PostMethod.allCases)
    func `every post method can be watched, changed and stopped`(_ method: PostMethod) throws {
        let observers = [
            observe(name, "name"), center.observe(OrderPaid.self) { [journal] in journal.note("typed \($0.amount)") },
        ]
        try method.post(in: center)
        #expect(journal.take().suffix(1) == ["typed 7"])

        let watching = center.intercept { [journal] notification, next in
            let amount = (notification.payload as? OrderPaid)?.amount ?? 0
            journal.note("watched \(notification.name) \(notification.object?.text ?? "-") \(amount)")
            next(notification)
        }
        try method.post(in: center)
        #expect(journal.take().first == "watched orders.paid 17 7")

        let changing = center.intercept { notification, next in
            next(LocalNotification(name: notification.name, object: "18", payload: OrderPaid(amount: 8)))
        }
        try method.post(in: center)
        #expect(journal.take().suffix(1) == ["typed 8"])

        center.clear(matching: .every)
        let stopping = center.intercept { _, _ in }
        try method.post(in: center)
        #expect(journal.take() == ["watched orders.paid 17 7"])
        #expect(center.value(of: name, object: "17") == nil)
        #expect(center.value(of: name, object: "18") == nil)
        withExtendedLifetime((observers, watching, changing, stopping)) {}
    }

    // MARK: Adding and ending

    @Test func `an interception ends with its token`() {
        var token: InterceptionToken? = watch("watched")
        center.post(name)
        #expect(token != nil)
        token = nil
        center.post(name)
        #expect(journal.take() == ["watched orders.paid"])
        #expect(center.canTakeFastPath)
    }

    @Test func `ending an interception again ends no other`() {
        var ended: InterceptionToken? = watch("ended")
        ended?.cancel()
        let token = watch("stays")
        ended?.cancel()
        ended = nil
        center.post(name)
        #expect(journal.take() == ["stays orders.paid"])
        token.cancel()
    }

    @Test func `a post in progress passes ended interceptors and skips added ones`() {
        let added = LateValue<InterceptionToken>()
        let ending = LateValue<InterceptionToken>()
        let first = center.intercept { [center, journal] notification, next in
            ending.value = nil
            if added.value == nil {
                added.value = center.intercept { notification, next in
                    journal.note("added")
                    next(notification)
                }
            }
            next(notification)
        }
        ending.value = watch("ending")
        let observer = observe(name, "observer")
        center.post(name)
        #expect(journal.take() == ["ending orders.paid", "observer"])
        center.post(name)
        #expect(journal.take() == ["added", "observer"])
        added.value = nil
        withExtendedLifetime((first, observer)) {}
    }

    @Test func `the captures of an interceptor are released with it and may end another interceptor`() {
        var captured: InterceptionToken? = watch("captured")
        let gone = Weak(captured)
        let token = center.intercept { [captured] notification, next in
            withExtendedLifetime(captured) { next(notification) }
        }
        captured = nil
        center.post(name)
        #expect(journal.take() == ["captured orders.paid"])
        token.cancel()
        #expect(gone.isGone)
        center.post(name)
        #expect(journal.take() == [])
    }
}
