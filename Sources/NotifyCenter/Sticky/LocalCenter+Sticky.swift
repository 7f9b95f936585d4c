extension LocalCenter {
    /// Posts a notification that stays: whoever begins to observe later gets the last one of each name and object at once.
    ///
    /// It stays until another one with the same name and object takes its place, or it is removed. As long as it stays, so
    /// do its payload and its object. A new observer is not given what has been replaced or taken back by the time its turn
    /// comes, be it in the call for another one; whoever posts the newer one calls the observer for that. Between the look
    /// whether it stays and the call nothing is locked: what another thread replaces or takes back just then is still
    /// delivered, so that the observer may get the newer one first, or at the same time; the same goes for the order in
    /// which both come into a mailbox. ``stickyNotification(_:object:)`` always has the newest.
    ///
    /// An object that is a value is compared under the center's lock: see ``NotificationObject/init(value:)``.
    public func postSticky(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) {
        postSticky(LocalNotification(name: name, object: object, payload: payload))
    }

    /// Posts by name what stays. See ``postSticky(_:object:payload:)-(NotificationName,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name breaks a rule.
    public func postSticky(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) throws(NameError) {
        postSticky(try NotificationName(name), object: object, payload: payload)
    }

    /// Posts a message that stays. See ``postSticky(_:object:payload:)-(NotificationName,_,_)``.
    public func postSticky<Message: NotificationMessage>(_ message: Message) {
        postSticky(
            LocalNotification(
                name: Message.notificationName, object: message.notificationObject, payload: message))
    }

    /// Posts a notification that stays. See ``postSticky(_:object:payload:)-(NotificationName,_,_)``.
    public func postSticky(_ notification: LocalNotification) {
        intercepted(notification) { notification in
            let list = storeSticky(notification)
            reportIfUnobserved(notification, by: list)
            list?.deliver(notification, in: self)
        }
    }

    /// Keeps a notification and answers whom it reaches, in one step, so that who begins to observe meanwhile gets it once,
    /// one way or the other.
    func storeSticky(_ notification: LocalNotification) -> ObserverList? {
        let (list, old) = state.withLock { state in
            let old = state.sticky.store(notification)
            return (state.resolve(notification.name, object: notification.object?.key), old)
        }
        // Let go without the lock.
        withExtendedLifetime(old) {}
        return list
    }

    /// The last notification of this name and object that was posted to stay.
    public func stickyNotification(
        _ name: NotificationName, object: NotificationObject? = nil
    ) -> LocalNotification? {
        state.withLock { $0.sticky.find(name, object: object) }
    }

    /// The last message of this type that was posted to stay.
    public func stickyMessage<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        stickyNotification(type.notificationName, object: object)?.payload as? Message
    }

    /// Takes back what was posted to stay. Answers what it was.
    @discardableResult
    public func removeSticky(_ name: NotificationName, object: NotificationObject? = nil) -> LocalNotification? {
        state.withLock { $0.sticky.remove(name, object: object) }
    }

    /// Takes back a message that was posted to stay. Answers what it was.
    @discardableResult
    public func removeSticky<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        removeSticky(type.notificationName, object: object)?.payload as? Message
    }

    /// Takes back everything that was posted to stay.
    public func removeAllSticky() {
        // Let go without the lock: it may be the last that held a payload.
        withExtendedLifetime(state.withLock { $0.sticky.removeAll() }) {}
    }
}
