import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// Messages and notifications of the same name reach each other's observers.
@Suite @MainActor struct MessageNotificationTests {
    private let center = NotificationCenter()
    private let journal = Journal()
    private let event = Event()
    private let other = Event()

    private func observeNotifications(_ name: Notification.Name, object: Event? = nil) {
        _ = center.addObserver(forName: name, object: object, queue: nil) { [journal, event] in
            let object = $0.object.map { $0 as? Event === event ? "event" : "other" } ?? "none"
            journal.note("\($0.name.rawValue) \(object) \($0.userInfo.map { "\($0.count)" } ?? "nil")")
            if let row = $0.userInfo?["row"] as? Int { journal.note("row \(row)") }
        }
    }

    // MARK: - Posted messages

    @Test func `observers of notifications get the notification made by the message`() {
        observeNotifications(EventDidMove.name)
        center.post(EventDidMove(row: 7), subject: event)
        center.post(EventDidMove(row: 8))
        #expect(
            journal.take() == ["EventDidMove event 1", "row 7", "EventDidMove none 1", "row 8"])
    }

    @Test func `observers of a notification's object get messages with that subject`() {
        observeNotifications(EventDidMove.name, object: event)
        center.post(EventDidMove(row: 7), subject: event)
        center.post(EventDidMove(row: 8), subject: other)
        center.post(EventDidMove(row: 9))
        #expect(journal.take() == ["EventDidMove event 1", "row 7"])
    }

    @Test func `a message without a conversion becomes a notification without userInfo`() {
        observeNotifications(EventDidStart.name)
        center.post(EventDidStart(), subject: event)
        #expect(journal.take() == ["\(EventDidStart.name.rawValue) event nil"])
    }

    private struct Renamed: NotificationCenter.MainActorMessage {
        typealias Subject = Event
        static func makeNotification(_ message: Self) -> Notification { Notification(name: .init("x"), object: "x") }
    }

    @Test func `the notification has the name and object of the post`() {
        observeNotifications(Renamed.name)
        center.post(Renamed(), subject: event)
        center.post(Renamed())
        #expect(journal.take() == ["\(Renamed.name.rawValue) event nil", "\(Renamed.name.rawValue) none nil"])
    }

    @Test func `observers of notifications and messages are called in order of addition`() {
        observeNotifications(EventDidStart.name)
        let token = center.addObserver(for: EventDidStart.self) { [journal] _ in journal.note("message") }
        observeNotifications(EventDidStart.name)
        center.post(EventDidStart())
        #expect(journal.take().map { $0.prefix(7) } == ["NotifyF", "message", "NotifyF"])
        withExtendedLifetime(token) {}
    }

    /// Another message type with the name of `EventDidMove`.
    private struct Move: NotificationCenter.MainActorMessage {
        typealias Subject = Event
        static var name: Notification.Name { EventDidMove.name }
        let text: String

        static func makeMessage(_ notification: Notification) -> Self? {
            (notification.userInfo?["row"] as? Int).map { Self(text: "row \($0)") }
        }
    }

    @Test func `observers of another type with the same name get a message made of the notification`() {
        let token = center.addObserver(of: event, for: Move.self) { [journal] in journal.note($0.text) }
        center.post(EventDidMove(row: 7), subject: event)
        #expect(journal.take() == ["row 7"])
        withExtendedLifetime(token) {}
    }

    @Test func `a message without observers makes no notification`() {
        struct Unobserved: NotificationCenter.MainActorMessage {
            typealias Subject = Event
            let journal: Journal

            static func makeNotification(_ message: Self) -> Notification {
                message.journal.note("made")
                return Notification(name: name)
            }
        }
        center.post(Unobserved(journal: journal), subject: event)
        #expect(journal.take() == [])
    }

    // MARK: - Posted notifications

    @Test func `observers of messages get the message made of the notification`() {
        let tokens = [
            center.addObserver(of: event, for: .didMove) { [journal] in journal.note("event \($0.row)") },
            center.addObserver(of: Event.self, for: .didMove) { [journal] in journal.note("any \($0.row)") },
        ]
        center.post(name: EventDidMove.name, object: event, userInfo: ["row": 1])
        center.post(name: EventDidMove.name, object: other, userInfo: ["row": 2])
        center.post(name: EventDidMove.name, object: nil, userInfo: ["row": 3])
        #expect(journal.take() == ["event 1", "any 1", "any 2", "any 3"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a notification that makes no message is reported, and other observers are called`() {
        center.center.hooks.failed = { [journal] in journal.note("\($0.error)") }
        let tokens = [
            center.addObserver(for: EventDidMove.self) { [journal] _ in journal.note("called") },
            center.addObserver(for: EventDidStart.self) { [journal] _ in journal.note("called") },
        ]
        observeNotifications(EventDidMove.name)
        center.post(name: EventDidMove.name, object: nil, userInfo: ["column": 1])
        center.post(name: EventDidStart.name, object: nil)
        #expect(
            journal.take() == [
                "makeMessage(_:) of EventDidMove returned nil", "EventDidMove none 1",
                "makeMessage(_:) of EventDidStart returned nil",
            ])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a notification from another thread calls main-actor observers asynchronously`() async {
        let token = center.addObserver(of: event, for: .didMove) { [journal] in
            MainActor.assertIsolated()
            journal.note("row \($0.row)")
        }
        await onThreads(1) { [center, event] _ in
            for row in 1...2 { center.post(name: EventDidMove.name, object: event, userInfo: ["row": row]) }
        }
        // This task runs on the main actor after the calls of the observer.
        await Task.detached { @MainActor in }.value
        #expect(journal.take() == ["row 1", "row 2"])
        withExtendedLifetime(token) {}
    }

    @Test func `a notification from another thread that makes no message is reported`() async {
        center.center.hooks.failed = { [journal] in journal.note("\($0.notification.name): \($0.error)") }
        let token = center.addObserver(of: event, for: .didMove) { [journal] _ in journal.note("called") }
        await onThreads(1) { [center, event] _ in
            center.post(name: EventDidMove.name, object: event, userInfo: ["column": 1])
        }
        // This task runs on the main actor after the conversion.
        await Task.detached { @MainActor in }.value
        #expect(journal.take() == ["EventDidMove: makeMessage(_:) of EventDidMove returned nil"])
        withExtendedLifetime(token) {}
    }

    @Test func `an observer removed before its asynchronous call is not called`() async {
        let token = center.addObserver(of: event, for: .didMove) { [journal] _ in journal.note("called") }
        let isPosted = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [center, event] in
            center.post(name: EventDidMove.name, object: event, userInfo: ["row": 1])
            isPosted.signal()
        }
        // Blocks the main actor, so that the call stays pending.
        #expect(isPosted.wait(timeout: .now() + 300) == .success)
        center.removeObserver(token)
        await Task.detached { @MainActor in }.value
        #expect(journal.take() == [])
    }

    // MARK: - The underlying center

    @Test func `observers of the underlying center get an async message`() throws {
        let token = try center.center.observe("EventDidEnd") { [journal] in
            let posted = $0.payload as? PostedNotification
            journal.note("\(posted?.message(as: EventDidEnd.self)?.seconds ?? 0)")
            journal.note("\(posted?.userInfo("seconds", as: Int.self) ?? 0)")
        }
        center.post(EventDidEnd(seconds: 3))
        #expect(journal.take() == ["3", "3"])
        token.cancel()
    }

    @Test func `a message posted to the underlying center reaches observers of its type`() throws {
        let token = center.addObserver(of: Event.self, for: .didMove) { [journal] in journal.note("row \($0.row)") }
        try center.center.post("EventDidMove", payload: EventDidMove(row: 7))
        #expect(journal.take() == ["row 7"])
        withExtendedLifetime(token) {}
    }

    @Test func `an interceptor's change of the object applies and the message is kept`() {
        let interception = center.center.intercept { [event] notification, next in
            next(
                LocalNotification(
                    name: notification.name, object: NotificationObject(instance: event),
                    payload: notification.payload))
        }
        let token = center.addObserver(of: event, for: .didStart) { [journal] in journal.note("\($0.number)") }
        center.post(EventDidStart(number: 7))
        #expect(journal.take() == ["7"])
        interception.cancel()
        withExtendedLifetime(token) {}
    }
}
