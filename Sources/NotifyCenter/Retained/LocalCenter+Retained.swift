extension LocalCenter {
    /// Posts a notification and retains it: an observer that is registered later receives the retained notifications
    /// that match it, as part of its registration.
    ///
    /// A notification is retained, with its payload and its object, until newer ones with the same name and object
    /// replace it, or until it is removed.
    ///
    /// A new observer receives the retained notifications one after another. A notification that is replaced or removed
    /// before its turn, for example during the delivery of an earlier one, is skipped; the newer notification reaches
    /// the observer by its own post. No lock is held between the check for a replacement and the call, so a
    /// notification that another thread replaces or removes at that moment is still delivered. In this case, the
    /// observer may receive the newer notification first or concurrently, and a buffer may receive both in either
    /// order. ``retainedNotification(_:object:)`` always returns the newest.
    ///
    /// An object that is a value is compared under the center's lock: see ``NotificationObject/init(value:)``.
    ///
    /// - Parameters:
    ///   - name: The name of the notification.
    ///   - object: The object that the notification concerns.
    ///   - payload: The payload, passed to the observers unchanged.
    ///   - count: The number of notifications of this name and object to retain, including this one; at least 1. The
    ///     value of the latest post applies.
    public func postRetained(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil, last count: Int = 1
    ) {
        postRetained(LocalNotification(name: name, object: object, payload: payload), last: count)
    }

    /// Posts a notification by name and retains it. See
    /// ``postRetained(_:object:payload:last:)-(NotificationName,_,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name is invalid.
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

    /// Retains a notification and returns its observers atomically, so that an observer that is registered concurrently
    /// receives the notification exactly once.
    func storeRetained(_ notification: LocalNotification, last count: Int) -> ObserverList? {
        precondition(count > 0, "the number of retained notifications must be at least 1")
        let (list, dropped) = state.withLock { state in
            let dropped = state.retained.store(notification, limit: count)
            return (state.resolve(notification.name, object: notification.object?.key), dropped)
        }
        // Released outside the lock: deinitializers of payloads may call the center.
        withExtendedLifetime(dropped) {}
        return list
    }

    /// Returns the newest retained notification of this name and object, or nil if there is none.
    public func retainedNotification(
        _ name: NotificationName, object: NotificationObject? = nil
    ) -> LocalNotification? {
        state.withLock { $0.retained.last(name, object: object) }
    }

    /// Returns the newest retained message of this type and object, or nil if there is none.
    public func retainedMessage<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        retainedNotification(type.notificationName, object: object)?.payload as? Message
    }

    /// Returns the retained notifications of this name and object, the oldest first.
    public func retainedNotifications(
        _ name: NotificationName, object: NotificationObject? = nil
    ) -> [LocalNotification] {
        state.withLock { $0.retained.find(name, object: object) }
    }

    /// Returns the retained messages of this type and object, the oldest first.
    public func retainedMessages<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil
    ) -> [Message] {
        retainedNotifications(type.notificationName, object: object).compactMap { $0.payload as? Message }
    }

    /// Removes the retained notifications of a name and object.
    ///
    /// - Returns: The newest of the removed notifications, or nil if there were none.
    @discardableResult
    public func removeRetained(_ name: NotificationName, object: NotificationObject? = nil) -> LocalNotification? {
        // The removed notifications are released outside the lock.
        state.withLock { $0.retained.remove(name, object: object) }.last
    }

    /// Removes the retained messages of a type and object.
    ///
    /// - Returns: The newest of the removed messages, or nil if there were none.
    @discardableResult
    public func removeRetained<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        removeRetained(type.notificationName, object: object)?.payload as? Message
    }

    /// Removes all retained notifications.
    public func removeAllRetained() {
        // Released outside the lock: deinitializers of payloads may call the center.
        withExtendedLifetime(state.withLock { $0.retained.removeAll() }) {}
    }
}
