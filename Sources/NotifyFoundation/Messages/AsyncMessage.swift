public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// A message that may be posted and observed anywhere. Its observers are called asynchronously.
    ///
    /// ```swift
    /// struct EventDidFinish: NotificationCenter.AsyncMessage {
    ///     typealias Subject = Event
    ///     let duration: Duration
    /// }
    /// ```
    ///
    /// A message is posted as a notification of its ``name``, with the subject as object, so observers and posters of
    /// notifications work with it, too: ``makeNotification(_:)`` makes what observers of notifications get, and
    /// ``makeMessage(_:)`` what observers of messages get for a notification, or for another type of message, of this
    /// name. Both are called on the poster's thread.
    public protocol AsyncMessage: Sendable {
        /// The type of what messages are about. To post or observe a subject it must be a class.
        associatedtype Subject

        /// The name of the notification, by default the type's name with its module.
        ///
        /// With the default, renaming the type or its module separates it from posters and observers of the old name.
        static var name: Notification.Name { get }

        /// Creates a message of a notification. By default there is none.
        ///
        /// - Returns: The message, or nil if the notification lacks what it needs. The observer is not called then,
        ///   which `CenterHooks.failed` of the underlying center reports.
        static func makeMessage(_ notification: Notification) -> Self?

        /// Creates a notification of a message. The center sets its name and its object. By default it has no
        /// `userInfo`.
        static func makeNotification(_ message: Self) -> Notification
    }
}

extension CompatibleNotificationCenter.AsyncMessage {
    /// The type's name with its module.
    public static var name: Notification.Name { Notification.Name(_typeName(Self.self)) }

    /// Makes no message.
    public static func makeMessage(_ notification: Notification) -> Self? { nil }

    /// Creates a notification without `userInfo`.
    public static func makeNotification(_ message: Self) -> Notification { Notification(name: name) }
}

// MARK: - Posting

extension CompatibleNotificationCenter {
    /// Posts a message to the observers of its type and of its name that observe this subject, or none. Returns after
    /// the calls of those that observe the name; observers of messages are called in tasks.
    public func post<Message: AsyncMessage>(_ message: Message, subject: Message.Subject)
    where Message.Subject: AnyObject {
        post(message, named: Message.name, subject: subject) { Message.makeNotification($0) }
    }

    /// Posts a message to the observers of its type and of its name that observe no subject. Returns after the calls of
    /// those that observe the name; observers of messages are called in tasks.
    public func post<Message: AsyncMessage>(_ message: Message) {
        post(message, named: Message.name, subject: nil) { Message.makeNotification($0) }
    }
}

// MARK: - Observing

extension CompatibleNotificationCenter {
    /// Observes messages about one subject until the token is released. The subject is not kept alive.
    ///
    /// Each call is a task of its own: calls for several messages run at once and in any order.
    public func addObserver<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject, for identifier: Identifier,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Identifier.MessageType == Message, Message.Subject: AnyObject {
        observeInTasks(subject, observer)
    }

    /// Observes messages about any subject or none until the token is released.
    ///
    /// Each call is a task of its own: calls for several messages run at once and in any order.
    public func addObserver<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject.Type, for identifier: Identifier,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Identifier.MessageType == Message {
        observeInTasks(nil, observer)
    }

    /// Observes messages of a type, about one subject or, if that is nil, about any or none, until the token is
    /// released. The subject is not kept alive.
    ///
    /// Each call is a task of its own: calls for several messages run at once and in any order.
    public func addObserver<Message: AsyncMessage>(
        of subject: Message.Subject? = nil, for messageType: Message.Type,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Message.Subject: AnyObject {
        observeInTasks(subject, observer)
    }

    private func observeInTasks<Message: AsyncMessage>(
        _ subject: AnyObject?, _ observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken {
        let observation = observe(Message.name, object: subject) { activity, posted in
            let message: Message = try posted.message(or: { Message.makeMessage($0) })
            Task.detached { if activity.isActive { await observer(message) } }
        }
        return ObservationToken(observation)
    }
}
