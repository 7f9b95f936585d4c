/// The closures of an observer, and its buffer if it has one.
struct Receiver: Sendable {
    typealias Owner = any AnyObject & Sendable

    /// The closure of an observer without an owner.
    var call: @Sendable (LocalNotification) throws -> Void = { _ in }
    /// The closure of an observer with an owner, called with the owner.
    var callOwned: @Sendable (Owner, LocalNotification) throws -> Void = { _, _ in }
    /// The typed closures, if the observer observes a type of message.
    var messages: (any MessageReceiving)?
    /// The buffer, if the observer does not run on the poster's thread.
    var queue: (any ObserverQueue)?
}

/// A buffer in which a post can wait for room.
protocol PostWaiter: AnyObject, Sendable {
    /// Called when the post stops waiting. The post's elements that are not in the buffer are dropped.
    func withdraw(_ post: WaitingPost)
}

/// A buffer of notifications for an observer.
protocol ObserverQueue: AnyObject, Sendable {
    /// The number of notifications dropped because the buffer was full.
    var droppedCount: Int { get }

    /// Checks whether the observer can be called with the notification.
    func accepts(_ notification: LocalNotification) -> Bool

    /// Called when the observation is registered, under the center's lock.
    func registered(_ registration: UInt64, slot: Int32)

    /// Adds a notification for a post that can wait for room.
    func put(_ notification: LocalNotification, for post: WaitingPost)

    /// Called when the observation ends. Drops the buffered notifications.
    func close()
}

extension Receiver {
    static func notifications(_ body: @escaping @Sendable (LocalNotification) throws -> Void) -> Receiver {
        Receiver(call: body)
    }

    static func notifications<Object: AnyObject & Sendable>(
        _ body: @escaping @Sendable (Object, LocalNotification) throws -> Void
    ) -> Receiver {
        // Safe: an observer passes only its own owner, which has this type.
        Receiver(callOwned: { owner, notification in try body(unsafeDowncast(owner, to: Object.self), notification) })
    }

    static func messages<Message: Sendable>(_ body: @escaping @Sendable (Message) throws -> Void) -> Receiver {
        let call = { @Sendable (notification: LocalNotification) in
            if let message = notification.payload as? Message { try body(message) }
        }
        return Receiver(call: call, messages: MessageReceiver<Message>(call: body, callOwned: nil))
    }

    static func messages<Object: AnyObject & Sendable, Message: Sendable>(
        _ body: @escaping @Sendable (Object, Message) throws -> Void
    ) -> Receiver {
        let callOwned = { @Sendable (owner: Owner, notification: LocalNotification) in
            guard let message = notification.payload as? Message else { return }
            try body(unsafeDowncast(owner, to: Object.self), message)
        }
        let messages = MessageReceiver<Message>(
            call: { _ in }, callOwned: { try body(unsafeDowncast($0, to: Object.self), $1) })
        return Receiver(callOwned: callOwned, messages: messages)
    }
}

/// The closures of an observer for messages of exactly one type.
protocol MessageReceiving: AnyObject, Sendable {
    var type: ObjectIdentifier { get }

    /// Checks whether the observer can be called with the notification.
    func accepts(_ notification: LocalNotification) -> Bool
}

final class MessageReceiver<Message: Sendable>: MessageReceiving {
    let call: @Sendable (Message) throws -> Void
    let callOwned: (@Sendable (Receiver.Owner, Message) throws -> Void)?
    private let acceptsOthers: Bool

    /// - Parameter acceptsOthers: Whether the observer also accepts payloads of other types.
    init(
        call: @escaping @Sendable (Message) throws -> Void,
        callOwned: (@Sendable (Receiver.Owner, Message) throws -> Void)?, acceptsOthers: Bool = false
    ) {
        self.call = call
        self.callOwned = callOwned
        self.acceptsOthers = acceptsOthers
    }

    var type: ObjectIdentifier { ObjectIdentifier(Message.self) }

    func accepts(_ notification: LocalNotification) -> Bool {
        acceptsOthers || notification.payload is Message
    }
}
