import Foundation
import NotifyFoundation

// The messages that the tests post. They are declared as for Foundation's center, because `NotificationCenter` is a
// type alias in `ArticleCode.swift`.

final class Event: Sendable {}

struct EventDidStart: NotificationCenter.MainActorMessage {
    typealias Subject = Event
    var number = 0
}

struct EventDidMove: NotificationCenter.MainActorMessage {
    typealias Subject = Event
    static var name: Notification.Name { Notification.Name("EventDidMove") }
    var row = 0

    static func makeMessage(_ notification: Notification) -> Self? {
        (notification.userInfo?["row"] as? Int).map { Self(row: $0) }
    }

    static func makeNotification(_ message: Self) -> Notification {
        Notification(name: name, userInfo: ["row": message.row])
    }
}

struct EventDidEnd: NotificationCenter.AsyncMessage {
    typealias Subject = Event
    static var name: Notification.Name { Notification.Name("EventDidEnd") }
    var seconds = 0

    static func makeMessage(_ notification: Notification) -> Self? {
        (notification.userInfo?["seconds"] as? Int).map { Self(seconds: $0) }
    }

    static func makeNotification(_ message: Self) -> Notification {
        Notification(name: name, userInfo: ["seconds": message.seconds])
    }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<EventDidStart> {
    static var didStart: Self { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<EventDidMove> {
    static var didMove: Self { .init() }
}

extension NotificationCenter.MessageIdentifier
where Self == NotificationCenter.BaseMessageIdentifier<EventDidEnd> {
    static var didEnd: Self { .init() }
}
