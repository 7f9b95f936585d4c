/// The observers that a post reaches, in order. Immutable: a change of the observations creates a new list.
final class ObserverList: Sendable {
    let observers: ContiguousArray<Observer>

    init(_ observers: ContiguousArray<Observer>) {
        self.observers = observers
    }

    /// Calls all observers.
    @inline(__always)
    func deliver(_ notification: LocalNotification, in center: LocalCenter) {
        forEach { $0.deliver(notification, in: center) }
    }

    /// Delivers the message to observers of its type, and a notification, created on demand, to the others. The parts
    /// of the post are separate parameters: with a generic type for all of them, each post would look up the metadata
    /// of that type at run time.
    @inline(__always)
    func deliver<Message: Sendable>(
        _ message: Message, name: NotificationName, object: NotificationObject?, in center: LocalCenter
    ) {
        let type = ObjectIdentifier(Message.self)
        observers.withUnsafeBufferPointer { observers in
            for index in observers.indices {
                let observer = Unmanaged.passUnretained(observers[index])
                let isDone = observer._withUnsafeGuaranteedRef { observer in
                    guard observer.messageType == type else { return false }
                    observer.deliver(message, name: name, object: object, in: center)
                    return true
                }
                if isDone { continue }
                let notification = LocalNotification(name: name, object: object, payload: message)
                return deliver(message, notification, from: index, in: center)
            }
        }
    }

    @inline(never)
    private func deliver<Message: Sendable>(
        _ message: Message, _ notification: LocalNotification, from first: Int, in center: LocalCenter
    ) {
        let type = ObjectIdentifier(Message.self)
        for observer in observers[first...] {
            if observer.messageType == type {
                observer.deliver(message, name: notification.name, object: notification.object, in: center)
            } else {
                observer.deliver(notification, in: center)
            }
        }
    }

    /// Calls the body without retaining each observer: the list retains them, and the caller retains the list.
    @inline(__always)
    private func forEach(_ body: (Observer) -> Void) {
        observers.withUnsafeBufferPointer { observers in
            for index in observers.indices {
                Unmanaged.passUnretained(observers[index])._withUnsafeGuaranteedRef(body)
            }
        }
    }
}
