public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// A message that is posted on the main actor. Its observers run on the main actor before `post` returns.
    ///
    /// ```swift
    /// struct EventDidStart: CompatibleNotificationCenter.MainActorMessage {
    ///     typealias Subject = Event
    /// }
    /// ```
    ///
    /// A message is posted as a notification of its ``name`` with the subject as its object. Observers of notifications
    /// receive the notification that ``makeNotification(_:)`` creates. Observers of the message also receive
    /// notifications of this name, and messages of other types with this name: ``makeMessage(_:)`` converts them to
    /// messages of this type.
    ///
    /// A notification that reaches observers of messages should be posted on the main actor. If it is posted elsewhere,
    /// Foundation on Apple's systems stops the program. This center does not stop the program, but calls the observers
    /// later on the main actor, in the order of the posts of each thread. In this case, the contents of the
    /// notification must be usable on another thread.
    public protocol MainActorMessage: SendableMetatype {
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
        @MainActor static func makeMessage(_ notification: Notification) -> Self?

        /// Creates a notification from a message. The center sets the notification's name and object. The default
        /// implementation sets no `userInfo`.
        @MainActor static func makeNotification(_ message: Self) -> Notification
    }
}

extension CompatibleNotificationCenter.MainActorMessage {
    /// The type's name with its module.
    public static var name: Notification.Name { Notification.Name(_typeName(Self.self)) }

    /// Returns nil.
    @MainActor public static func makeMessage(_ notification: Notification) -> Self? { nil }

    /// Creates a notification without `userInfo`.
    @MainActor public static func makeNotification(_ message: Self) -> Notification { Notification(name: name) }
}

// MARK: - Posting

extension CompatibleNotificationCenter {
    /// Posts a message to the observers of its type and of its name that observe this subject or any subject. Returns
    /// after all of these observers have run, except asynchronous ones.
    @MainActor
    public func post<Message: MainActorMessage>(_ message: Message, subject: Message.Subject)
    where Message.Subject: AnyObject {
        post(message, named: Message.name, subject: subject) { Message.makeNotification($0) }
    }

    /// Posts a message without a subject to the observers of its type and of its name that observe any subject. Returns
    /// after all of these observers have run, except asynchronous ones.
    @MainActor
    public func post<Message: MainActorMessage>(_ message: Message) {
        post(message, named: Message.name, subject: nil) { Message.makeNotification($0) }
    }

    /// - Parameter makeNotification: Creates the notification. Called if the post reaches an observer, or if the center
    ///   has interceptors or a hook for unobserved posts. The name and the object of the result are overwritten.
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

    /// Observes messages with any subject or without one on the main actor, until the token is released.
    public func addObserver<Identifier: MessageIdentifier, Message: MainActorMessage>(
        of subject: Message.Subject.Type, for identifier: Identifier,
        using observer: @escaping @MainActor (Message) -> Void
    ) -> ObservationToken where Identifier.MessageType == Message {
        observeOnMainActor(nil, observer)
    }

    /// Observes messages of a type on the main actor, until the token is released.
    ///
    /// - Parameters:
    ///   - subject: The subject of the messages, or nil to observe all messages of the type. The subject is not kept
    ///     alive.
    ///   - messageType: The type of message.
    ///   - observer: Called for each message.
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
        let observation = observe(Message.name, object: subject) { [weak center = self.center] activity, posted in
            if try MainActor.runIfCurrent({ try call(posted) }) { return }
            Task.detached { @MainActor [weak center] in
                guard activity.isActive else { return }
                do {
                    try call(posted)
                } catch {
                    center?.report(error, for: posted.local)
                }
            }
        }
        return ObservationToken(observation)
    }
}
