public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// A message that is posted on the main actor, where its observers have run before `post` returns.
    ///
    /// ```swift
    /// struct EventDidStart: NotificationCenter.MainActorMessage {
    ///     typealias Subject = Event
    /// }
    /// ```
    ///
    /// A message is posted as a notification of its ``name``, with the subject as object, so observers and posters of
    /// notifications work with it, too: ``makeNotification(_:)`` makes what observers of notifications get, and
    /// ``makeMessage(_:)`` what observers of messages get for a notification, or for another type of message, of this
    /// name.
    ///
    /// Notifications for which there are such observers should be posted on the main actor. Foundation on Apple's
    /// systems stops the program otherwise; here the observers are called later, on the main actor, in the order of the
    /// posts of each thread. The contents of the notification must then be usable on another thread.
    public protocol MainActorMessage: SendableMetatype {
        /// The type of what messages are about. To post or observe a subject it must be a class.
        associatedtype Subject

        /// The name of the notification, by default the type's name with its module.
        ///
        /// With the default, renaming the type or its module separates it from posters and observers of the old name.
        static var name: Notification.Name { get }

        /// Creates a message of a notification. By default there is none.
        ///
        /// - Returns: The message, or nil if the notification lacks what it needs. The observer is not called then,
        ///   which `CenterHooks.failed` of the underlying center reports if the post came from the main actor.
        @MainActor static func makeMessage(_ notification: Notification) -> Self?

        /// Creates a notification of a message. The center sets its name and its object. By default it has no
        /// `userInfo`.
        @MainActor static func makeNotification(_ message: Self) -> Notification
    }
}

extension CompatibleNotificationCenter.MainActorMessage {
    /// The type's name with its module.
    public static var name: Notification.Name { Notification.Name(_typeName(Self.self)) }

    /// Makes no message.
    @MainActor public static func makeMessage(_ notification: Notification) -> Self? { nil }

    /// Creates a notification without `userInfo`.
    @MainActor public static func makeNotification(_ message: Self) -> Notification { Notification(name: name) }
}

// MARK: - Posting

extension CompatibleNotificationCenter {
    /// Calls the observers of the message's type and of its name that observe this subject, or none. Returns after all
    /// of them.
    @MainActor
    public func post<Message: MainActorMessage>(_ message: Message, subject: Message.Subject)
    where Message.Subject: AnyObject {
        post(message, named: Message.name, subject: subject) { Message.makeNotification($0) }
    }

    /// Calls the observers of the message's type and of its name that observe no subject. Returns after all of them.
    @MainActor
    public func post<Message: MainActorMessage>(_ message: Message) {
        post(message, named: Message.name, subject: nil) { Message.makeNotification($0) }
    }

    /// - Parameter makeNotification: Makes the notification if the post reaches an observer. It needs no name and no
    ///   object.
    @inline(__always)
    func post<Message>(
        _ message: Message, named name: Notification.Name, subject: AnyObject?,
        makeNotification: (Message) -> Notification
    ) {
        post(name: name, object: subject) {
            var notification = makeNotification(message)
            notification.name = name
            notification.object = subject
            return PostedNotification(notification, message: message)
        }
    }
}

// MARK: - Observing

extension CompatibleNotificationCenter {
    /// Observes messages about one subject on the main actor, until the token is released. The subject is not kept
    /// alive.
    public func addObserver<Identifier: MessageIdentifier, Message: MainActorMessage>(
        of subject: Message.Subject, for identifier: Identifier, using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Identifier.MessageType == Message, Message.Subject: AnyObject {
        observeOnMainActor(subject, observer)
    }

    /// Observes messages about any subject or none on the main actor, until the token is released.
    public func addObserver<Identifier: MessageIdentifier, Message: MainActorMessage>(
        of subject: Message.Subject.Type, for identifier: Identifier,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Identifier.MessageType == Message {
        observeOnMainActor(nil, observer)
    }

    /// Observes messages of a type on the main actor, about one subject or, if that is nil, about any or none, until
    /// the token is released. The subject is not kept alive.
    public func addObserver<Message: MainActorMessage>(
        of subject: Message.Subject? = nil, for messageType: Message.Type,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Message.Subject: AnyObject {
        observeOnMainActor(subject, observer)
    }

    private func observeOnMainActor<Message: MainActorMessage>(
        _ subject: AnyObject?, _ observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken {
        let call: @MainActor @Sendable (PostedNotification) throws -> Void = { posted in
            observer(try posted.message(or: { Message.makeMessage($0) }))
        }
        let observation = observe(Message.name, object: subject) { activity, posted in
            if try MainActor.runIfCurrent({ try call(posted) }) { return }
            Task.detached { @MainActor in if activity.isActive { try call(posted) } }
        }
        return ObservationToken(observation)
    }
}
