/// Values: the last notification of each name and object that was set as one, or the last few. The center keeps them until
/// newer ones replace them or they are cleared. The terms are those of the values of a daemon.
extension LocalCenter {
    /// Posts a notification, and keeps it as the value of its name and object. An observer that is registered later
    /// receives the values that match it, as part of its registration.
    ///
    /// ```swift
    /// try center.setValue(80, for: "battery.level")
    /// let level = center.value(of: "battery.level")?.payload as? Int
    /// ```
    ///
    /// A new observer receives the values one after another. A value that is replaced or cleared before its turn, for
    /// example during the delivery of an earlier one, is skipped; the newer value reaches the observer by its own post.
    /// No lock is held between the check for a replacement and the call, so a value that another thread replaces or
    /// clears at that moment is still delivered. In this case, the observer may receive the newer value first or
    /// concurrently, and a buffer may receive both in either order. ``value(of:object:)-(NotificationName,_)`` always
    /// returns the newest.
    ///
    /// An object that is a value is compared under the center's lock: see ``NotificationObject/init(value:)``.
    ///
    /// - Parameters:
    ///   - payload: The payload, passed to the observers unchanged.
    ///   - name: The name of the notification.
    ///   - object: The object that the notification concerns. Each object of a name has a value of its own, and so has
    ///     the name without an object.
    ///   - count: The number of values of this name and object to keep, including this one; at least 1. The count of
    ///     the latest call applies.
    public func setValue(
        _ payload: (any Sendable)?, for name: NotificationName, object: NotificationObject? = nil, last count: Int = 1
    ) {
        setValue(LocalNotification(name: name, object: object, payload: payload), last: count)
    }

    /// Posts a notification by name and keeps it as a value. See
    /// ``setValue(_:for:object:last:)-(_,NotificationName,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name is invalid.
    public func setValue(
        _ payload: (any Sendable)?, for name: String, object: NotificationObject? = nil, last count: Int = 1
    ) throws(NameError) {
        setValue(payload, for: try NotificationName(name), object: object, last: count)
    }

    /// Posts a message and keeps it as a value. See ``setValue(_:for:object:last:)-(_,NotificationName,_,_)``.
    public func setValue<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, last count: Int = 1
    ) {
        setValue(LocalNotification(message, object: object), last: count)
    }

    /// Posts a notification and keeps it as a value. See ``setValue(_:for:object:last:)-(_,NotificationName,_,_)``.
    public func setValue(_ notification: LocalNotification, last count: Int = 1) {
        intercepted(notification) { notification in
            let list = storeValue(notification, last: count)
            reportIfUnobserved(notification, by: list)
            list?.deliver(notification, in: self)
        }
    }

    /// Keeps a notification as a value and returns its observers atomically, so that an observer that is registered
    /// concurrently receives the notification exactly once.
    func storeValue(_ notification: LocalNotification, last count: Int) -> ObserverList? {
        precondition(count > 0, "the number of values to keep must be at least 1")
        var effects = ValueWatches.Effects()
        let (list, dropped) = state.withLock { state in
            let dropped = state.values.store(notification, limit: count)
            state.watches.changed(notification, isCleared: false, &effects)
            return (state.resolve(notification.name, object: notification.object?.key), dropped)
        }
        // Released outside the lock: deinitializers of payloads may call the center.
        withExtendedLifetime(dropped) { effects.carryOut() }
        return list
    }

    // MARK: Reading

    /// Returns the value of this name and object, the newest if several are kept; nil if there is none.
    public func value(of name: NotificationName, object: NotificationObject? = nil) -> LocalNotification? {
        state.withLock { $0.values.last(name, object: object) }
    }

    /// Returns the newest value of this type and object; nil if there is none.
    public func value<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        value(of: type.notificationName, object: object)?.payload as? Message
    }

    /// Returns the values that are kept for this name and object, the oldest first.
    public func values(of name: NotificationName, object: NotificationObject? = nil) -> [LocalNotification] {
        state.withLock { $0.values.find(name, object: object) }
    }

    /// Returns the values that are kept for this type and object, the oldest first.
    public func values<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil
    ) -> [Message] {
        values(of: type.notificationName, object: object).compactMap { $0.payload as? Message }
    }

    /// Returns the values whose names match, in the order in which they were set.
    ///
    /// - Parameters:
    ///   - names: The names and patterns to match.
    ///   - object: The object to match; nil for values with any object or none.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func values<Names: NotificationNames>(
        matching names: Names, object: NotificationObject? = nil
    ) throws(Names.Failure) -> [LocalNotification] {
        let names = try names.observedNames
        return state.withLock { $0.values.matching(names, object: object, limit: .max).map(\.notification) }
    }

    // MARK: Clearing

    /// Clears the value of a name and object, also if several are kept. Observers are not called.
    ///
    /// - Returns: The newest of the cleared values; nil if there were none.
    @discardableResult
    public func clear(_ name: NotificationName, object: NotificationObject? = nil) -> LocalNotification? {
        var effects = ValueWatches.Effects()
        // The cleared values are released outside the lock.
        let cleared = state.withLock { state in
            let cleared = state.values.remove(name, object: object)
            if let last = cleared.last { state.watches.changed(last, isCleared: true, &effects) }
            return cleared
        }
        effects.carryOut()
        return cleared.last
    }

    /// Clears the value of a type and object, also if several are kept. Observers are not called.
    ///
    /// - Returns: The newest of the cleared values; nil if there were none.
    @discardableResult
    public func clear<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil
    ) -> Message? {
        clear(type.notificationName, object: object)?.payload as? Message
    }

    /// Clears the values whose names match, all at once: `center.clear(matching: .every)` clears all values. Observers
    /// are not called.
    ///
    /// - Parameters:
    ///   - names: The names and patterns to match.
    ///   - object: The object to match; nil for values with any object or none.
    /// - Returns: The number of names and objects whose values were cleared.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    @discardableResult
    public func clear<Names: NotificationNames>(
        matching names: Names, object: NotificationObject? = nil
    ) throws(Names.Failure) -> Int {
        let names = try names.observedNames
        var effects = ValueWatches.Effects()
        let cleared = state.withLock { state in
            let cleared = state.values.removeAll(matching: names, object: object)
            for values in cleared {
                if let last = values.last { state.watches.changed(last, isCleared: true, &effects) }
            }
            return cleared
        }
        // Released outside the lock: deinitializers of payloads may call the center.
        return withExtendedLifetime(cleared) {
            effects.carryOut()
            return cleared.count
        }
    }
}
