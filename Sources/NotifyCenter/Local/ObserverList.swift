/// The observers that a post reaches, in order. It never changes: an observation that comes or goes makes another list.
final class ObserverList: Sendable {
    let observers: ContiguousArray<Observer>

    init(_ observers: ContiguousArray<Observer>) {
        self.observers = observers
    }

    /// Calls all of them.
    @inline(__always)
    func deliver(_ notification: LocalNotification, in center: LocalCenter) {
        forEach { $0.deliver(notification, in: center) }
    }

    /// Hands the message to those who observe its type, and a notification to the others, which is made for the first of
    /// them.
    @inline(__always)
    func deliver<Message: Sendable>(_ post: MessagePost<Message>, in center: LocalCenter) {
        let type = ObjectIdentifier(Message.self)
        var notification: LocalNotification?
        forEach { observer in
            if observer.messageType == type { return observer.deliver(post, in: center) }
            if notification == nil { notification = post.notification }
            if let notification { observer.deliver(notification, in: center) }
        }
    }

    /// Calls the body without counting a reference for each observer: the list holds them, and whoever calls this holds the
    /// list.
    @inline(__always)
    private func forEach(_ body: (Observer) -> Void) {
        observers.withUnsafeBufferPointer { observers in
            for index in observers.indices {
                Unmanaged.passUnretained(observers[index])._withUnsafeGuaranteedRef(body)
            }
        }
    }
}

/// A message on its way.
struct MessagePost<Message: Sendable> {
    let name: NotificationName
    let object: NotificationObject?
    let message: Message

    var notification: LocalNotification { LocalNotification(name: name, object: object, payload: message) }
}
