import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// The conversion of Foundation's notifications to notifications of the underlying center, and back.
@Suite struct PostedNotificationTests {
    private final class Thing: Sendable {}

    private let center = CompatibleNotificationCenter()
    private let journal = Journal()
    private let name = NSNotification.Name("name")

    private func observe(_ name: NSNotification.Name?) -> any NSObjectProtocol {
        center.addObserver(forName: name, object: nil, queue: nil) { [journal] in
            journal.note("\($0.name.rawValue) \($0.object ?? "-") \($0.userInfo ?? [:])")
        }
    }

    // MARK: In the underlying center

    @Test func `observers of the underlying center get the name and the Sendable userInfo values`() throws {
        let token = try center.center.observe("name") { [journal] notification in
            guard let posted = notification.payload as? PostedNotification else { return }
            journal.note("\(notification.name) \(posted.name.rawValue)")
            journal.note("\(posted.userInfo("n", as: Int.self) ?? 0) \(posted.userInfo("n", as: String.self) ?? "-")")
            journal.note("\(posted.userInfo(17, as: String.self) ?? "-") \(posted.userInfo("m", as: Int.self) ?? 0)")
        }
        center.post(name: name, object: nil, userInfo: ["n": 3, 17: "seventeen"])
        #expect(journal.take() == ["name name", "3 -", "seventeen 0"])
        token.cancel()
    }

    @Test func `observers of the underlying center get the posted instance, text or value`() {
        let thing = Thing()
        let token = center.center.observe(.every) { [journal] notification in
            let object = notification.object
            journal.note(
                "\(object?.instance === thing) \(object?.text ?? "-") \(object?.value(as: Int.self) ?? 0) \(object == nil)"
            )
        }
        let wrapped: Int? = 17
        let nothing: Int? = nil
        let posted: [Any] = [thing, "text", 17, wrapped as Any, nothing as Any, { () in }]
        for object in posted { center.post(name: name, object: object) }
        #expect(
            journal.take() == [
                "true - 0 false", "false text 0 false", "false - 17 false", "false - 17 false", "false - 0 true",
                "false - 0 true",
            ])
        token.cancel()
    }

    @Test func `a value inside an optional is equal to the value`() {
        let wrapped: String? = "text"
        let token = center.addObserver(forName: name, object: wrapped as Any, queue: nil) { [journal] _ in
            journal.note("called")
        }
        center.post(name: name, object: "text")
        center.post(name: name, object: wrapped as Any)
        center.post(name: name, object: nil)
        #expect(journal.take() == ["called", "called"])
        center.removeObserver(token)
    }

    // MARK: From the underlying center

    @Test func `posts of the underlying center keep their object and payload`() throws {
        let token = observe(nil)
        try center.center.post("beneath", object: "text", payload: 7)
        try center.center.post("beneath")
        center.center.post(NotificationName(literal: "value"), object: NotificationObject(value: 17))
        #expect(
            journal.take() == [
                "beneath text [AnyHashable(\"\(CompatibleNotificationCenter.payloadKey)\"): 7]", "beneath - [:]",
                "value 17 [:]",
            ])
        center.removeObserver(token)
    }

    @Test func `an interceptor's change of name and object applies and the rest is kept`() {
        let interception = center.center.intercept { notification, next in
            next(notification)
            next(
                LocalNotification(
                    name: NotificationName(literal: "changed"), object: notification.object,
                    payload: notification.payload))
            next(LocalNotification(name: notification.name, object: "other", payload: notification.payload))
            next(LocalNotification(name: notification.name, payload: notification.payload))
        }
        let tokens = [observe(name), observe(.init("changed"))]
        center.post(name: name, object: 17, userInfo: ["n": 3])
        let info = "[AnyHashable(\"n\"): 3]"
        #expect(
            journal.take() == ["name 17 \(info)", "changed 17 \(info)", "name other \(info)", "name - \(info)"])
        interception.cancel()
        for token in tokens { center.removeObserver(token) }
    }
}
