extension LocalCenter {
    /// Posts a notification that stays: whoever begins to observe later gets the last one of each name and object at once.
    ///
    /// It stays until another one with the same name and object takes its place, or it is removed. As long as it stays, so
    /// do its payload and its object. A new observer is not given what has been replaced or taken back by the time its turn
    /// comes, be it in the call for another one; whoever posts the newer one calls the observer for that. Between the look
    /// whether it stays and the call nothing is locked: what another thread replaces or takes back just then is still
    /// delivered, so that the observer may get the newer one first, or at the same time; the same goes for the order in
    /// which both come into a mailbox. ``retainedNotification(_:object:)`` always has the newest.
    ///
    /// An object that is a value is compared under the center's lock: see ``NotificationObject/init(value:)``.
    public func postRetained(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) {
        postRetained(LocalNotification(name: name, object: object, payload: payload))
    }

    /// Posts by name what stays. See ``postRetained(_:object:payload:)-(NotificationName,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name breaks a rule.
    public func postRetained(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) throws(NameError) {
        postRetained(try NotificationName(name), object: object, payload: payload)
    }

    /// Posts a message that stays. See ``postRetained(_:object:payload:)-(NotificationName,_,_)``.
    public func postRetained<Message: NotificationMessage>(_ message: Message) {
        postRetained(
            LocalNotification(
                name: Message.notificationName, object: message.notificationObject, payload: message))
    }

    /// Posts a notification that stays. See ``postRetained(_:object:payload:)-(NotificationName,_,_)``.
    public func postRetained(_ notification: LocalNotification) {
        intercepted(notification) { notification in
            let list = storeRetained(notification)
            reportIfUnobserved(notification, by: list)
            list?.deliver(notification, in: self)
        }
    }

    /// Keeps a notification and answers whom it reaches, in one step, so that who begins to observe meanwhile gets it once,
    /// one way or the other.
    func storeRetained(_ notification: LocalNotification) -> ObserverList? {
        let (list, old) = state.withLock { state in
            let old = state.retained.store(notification)
            return (state.resolve(notification.name, object: notification.object?.key), old)
        }
        // Let go without the lock.
        withExtendedLifetime(old) {}
        return list
    }

    /// The last notification of this name and object that was posted to stay.
    public func retainedNotification(
        _ name: NotificationName, object: NotificationObject? = nil
    ) -> LocalNotification? {
        state.withLock { $0.retained.find(name, object: object) }
    }

    /// The last message of this type that was posted to stay.
    public func retainedMessage<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        retainedNotification(type.notificationName, object: object)?.payload as? Message
    }

    /// Takes back what was posted to stay. Answers what it was.
    @discardableResult
    public func removeRetained(_ name: NotificationName, object: NotificationObject? = nil) -> LocalNotification? {
        state.withLock { $0.retained.remove(name, object: object) }
    }

    /// Takes back a message that was posted to stay. Answers what it was.
    @discardableResult
    public func removeRetained<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        removeRetained(type.notificationName, object: object)?.payload as? Message
    }

    /// Takes back everything that was posted to stay.
    public func removeAllRetained() {
        // Let go without the lock: it may be the last that held a payload.
        withExtendedLifetime(state.withLock { $0.retained.removeAll() }) {}
    }
}
