public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// A message that can be posted and observed in any isolation domain. Its observers are called asynchronously.
    ///
    /// ```swift
    /// struct EventDidFinish: CompatibleNotificationCenter.AsyncMessage {
    ///     typealias Subject = Event
    ///     let duration: Duration
    /// }
    /// ```
    ///
    /// A message is posted as a notification of its ``name`` with the subject as its object. Observers of notifications
    /// receive the notification that ``makeNotification(_:)`` creates. Observers of the message also receive
    /// notifications of this name, and messages of other types with this name: ``makeMessage(_:)`` converts them to
    /// messages of this type. Both methods are called on the poster's thread.
    public protocol AsyncMessage: Sendable {
        /// The type of the subject of a message. It must be a class if a subject is posted or observed.
        associatedtype Subject

        /// The name of the notification, by default the type's name with its module.
        ///
        /// The default changes if the type or its module is renamed.
        static var name: Notification.Name { get }

        /// Creates a message from a notification. The default implementation returns nil.
        ///
        /// - Returns: The message, or nil if the notification lacks required contents. If it is nil, the hook `failed`
        ///   of the `LocalCenter` underneath is called instead of the observer.
        static func makeMessage(_ notification: Notification) -> Self?

        /// Creates a notification from a message. The center sets the notification's name and object. The default
        /// implementation sets no `userInfo`.
        static func makeNotification(_ message: Self) -> Notification
    }
}

extension CompatibleNotificationCenter.AsyncMessage {
    /// The type's name with its module.
    public static var name: Notification.Name { Notification.Name(_typeName(Self.self)) }

    /// Returns nil.
    public static func makeMessage(_ notification: Notification) -> Self? { nil }

    /// Creates a notification without `userInfo`.
    public static func makeNotification(_ message: Self) -> Notification { Notification(name: name) }
}

// MARK: - Posting

extension CompatibleNotificationCenter {
    /// Posts a message to the observers of its type and of its name that observe this subject or any subject. Returns
    /// after the observers of the name have run; observers of the type are called in tasks.
    public func post<Message: AsyncMessage>(_ message: Message, subject: Message.Subject)
    where Message.Subject: AnyObject {
        post(message, named: Message.name, subject: subject) { Message.makeNotification($0) }
    }

    /// Posts a message without a subject to the observers of its type and of its name that observe any subject. Returns
    /// after the observers of the name have run; observers of the type are called in tasks.
    public func post<Message: AsyncMessage>(_ message: Message) {
        post(message, named: Message.name, subject: nil) { Message.makeNotification($0) }
    }
}

// MARK: - Observing

extension CompatibleNotificationCenter {
    /// Observes messages about one subject until the token is released. The subject is not kept alive.
    ///
    /// Each call runs in a task of its own, so calls for several messages run concurrently and in any order.
    public func addObserver<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject, for identifier: Identifier,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Identifier.MessageType == Message, Message.Subject: AnyObject {
        observeInTasks(subject, observer)
    }

    /// Observes messages with any subject or without one, until the token is released.
    ///
    /// Each call runs in a task of its own, so calls for several messages run concurrently and in any order.
    public func addObserver<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject.Type, for identifier: Identifier,
        using observer: @escaping @Sendable (Message) async -> Void
    ) -> ObservationToken where Identifier.MessageType == Message {
        observeInTasks(nil, observer)
    }

    /// Observes messages of a type until the token is released.
    ///
    /// Each call runs in a task of its own, so calls for several messages run concurrently and in any order.
    ///
    /// - Parameters:
    ///   - subject: The subject of the messages, or nil to observe all messages of the type. The subject is not kept
    ///     alive.
    ///   - messageType: The type of message.
    ///   - observer: Called for each message.
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
