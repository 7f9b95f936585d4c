extension LocalCenter {
    /// Posts a notification and retains it: later observers get what is retained of each name and object as they begin.
    ///
    /// It is retained until newer ones with the same name and object replace it, or until it is removed, and so are its payload
    /// and its object. A new observer does not get what has been replaced or removed by the time its turn comes, such as in the
    /// call for an earlier one; the post of the newer one calls it. No lock is held between that check and the call: what
    /// another thread replaces or removes just then is still delivered, so that the observer may get the newer one first or
    /// at the same time, and a buffer may receive both in either order. ``retainedNotification(_:object:)`` always returns the
    /// newest.
    ///
    /// An object that is a value is compared under the center's lock: see ``NotificationObject/init(value:)``.
    ///
    /// - Parameters:
    ///   - name: What the notification is about.
    ///   - object: What it concerns.
    ///   - payload: Passed to the observers as it is.
    ///   - count: How many of the last notifications of this name and object are retained, this one included: at least 1. Each
    ///     post decides anew.
    public func postRetained(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil, last count: Int = 1
    ) {
        postRetained(LocalNotification(name: name, object: object, payload: payload), last: count)
    }

    /// Posts by name and retains. See ``postRetained(_:object:payload:last:)-(NotificationName,_,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name breaks a rule.
    public func postRetained(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil, last count: Int = 1
    ) throws(NameError) {
        postRetained(try NotificationName(name), object: object, payload: payload, last: count)
    }

    /// Posts a message and retains it. See ``postRetained(_:object:payload:last:)-(NotificationName,_,_,_)``.
    public func postRetained<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, last count: Int = 1
    ) {
        postRetained(LocalNotification(message, object: object), last: count)
    }

    /// Posts a notification and retains it. See ``postRetained(_:object:payload:last:)-(NotificationName,_,_,_)``.
    public func postRetained(_ notification: LocalNotification, last count: Int = 1) {
        intercepted(notification) { notification in
            let list = storeRetained(notification, last: count)
            reportIfUnobserved(notification, by: list)
            list?.deliver(notification, in: self)
        }
    }

    /// Retains a notification and returns its observers, in one step, so that an observer that begins meanwhile gets it once,
    /// one way or the other.
    func storeRetained(_ notification: LocalNotification, last count: Int) -> ObserverList? {
        precondition(count > 0, "the number of retained notifications must be at least 1")
        let (list, dropped) = state.withLock { state in
            let dropped = state.retained.store(notification, limit: count)
            return (state.resolve(notification.name, object: notification.object?.key), dropped)
        }
        // Released without the lock.
        withExtendedLifetime(dropped) {}
        return list
    }

    /// The newest retained notification of this name and object.
    public func retainedNotification(
        _ name: NotificationName, object: NotificationObject? = nil
    ) -> LocalNotification? {
        state.withLock { $0.retained.last(name, object: object) }
    }

    /// The newest retained message of this type and object.
    public func retainedMessage<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        retainedNotification(type.notificationName, object: object)?.payload as? Message
    }

    /// All retained notifications of this name and object, the oldest first.
    public func retainedNotifications(
        _ name: NotificationName, object: NotificationObject? = nil
    ) -> [LocalNotification] {
        state.withLock { $0.retained.find(name, object: object) }
    }

    /// All retained messages of this type and object, the oldest first.
    public func retainedMessages<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil
    ) -> [Message] {
        retainedNotifications(type.notificationName, object: object).compactMap { $0.payload as? Message }
    }

    /// Removes what is retained of a name and object.
    ///
    /// - Returns: The newest of what was removed.
    @discardableResult
    public func removeRetained(_ name: NotificationName, object: NotificationObject? = nil) -> LocalNotification? {
        // The others are released without the lock.
        state.withLock { $0.retained.remove(name, object: object) }.last
    }

    /// Removes the retained messages of a type and object.
    ///
    /// - Returns: The newest of what was removed.
    @discardableResult
    public func removeRetained<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        removeRetained(type.notificationName, object: object)?.payload as? Message
    }

    /// Removes everything that is retained.
    public func removeAllRetained() {
        // Released without the lock: it may hold the last reference to a payload.
        withExtendedLifetime(state.withLock { $0.retained.removeAll() }) {}
    }
}
