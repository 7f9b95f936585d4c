extension LocalCenter {
    /// Calls everybody who observes the name. Returns after the last call on this thread.
    ///
    /// - Parameters:
    ///   - name: What the notification is about.
    ///   - object: What it concerns. It reaches those who ask for this very object, and those who ask for none.
    ///   - payload: Handed to the observers as it is.
    public func post(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) {
        guard canTakeFastPath else {
            return postSlowPath(LocalNotification(name: name, object: object, payload: payload))
        }
        switch cache.find(name, object: object?.key) {
        case .unobserved: return
        case .observers(let list):
            list.deliver(LocalNotification(name: name, object: object, payload: payload), in: self)
        case .miss:
            let list = resolve(name, object: object)
            list?.deliver(LocalNotification(name: name, object: object, payload: payload), in: self)
        }
    }

    /// Calls everybody who observes the name.
    ///
    /// - Throws: ``NameError`` if the name breaks a rule.
    public func post(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) throws(NameError) {
        post(try NotificationName(name), object: object, payload: payload)
    }

    /// Calls everybody who observes the notification's name. Returns after the last call on this thread.
    public func post(_ notification: LocalNotification) {
        guard canTakeFastPath else { return postSlowPath(notification) }
        observers(of: notification.name, object: notification.object)?.deliver(notification, in: self)
    }

    /// Calls everybody who observes the type of the message or its name. Returns after the last call on this thread.
    public func post<Message: NotificationMessage>(_ message: Message) {
        post(Message.notificationName, object: message.notificationObject, message: message)
    }

    /// Calls the observers of the message's type or name, as ``post(_:)-(Message)``, with another object than the message's.
    ///
    /// - Parameters:
    ///   - message: What to post.
    ///   - object: What it concerns. Observers that ask for an object get the message if it is equal to this one.
    public func post<Message: NotificationMessage>(_ message: Message, object: NotificationObject) {
        post(Message.notificationName, object: object, message: message)
    }

    /// Posts a message of a type that has no name of its own. It reaches those
    /// who observe the name for messages of this type.
    package func post<Message: Sendable>(_ name: NotificationName, object: NotificationObject?, message: Message) {
        guard canTakeFastPath else {
            return postSlowPath(LocalNotification(name: name, object: object, payload: message))
        }
        observers(of: name, object: object)?.deliver(message, name: name, object: object, in: self)
    }

    /// Posts a message of a type that has no name of its own, which is made if the post reaches an observer.
    package func post<Message: Sendable>(
        _ name: NotificationName, object: NotificationObject?, makingMessage makeMessage: () -> Message
    ) {
        guard canTakeFastPath else {
            return postSlowPath(LocalNotification(name: name, object: object, payload: makeMessage()))
        }
        observers(of: name, object: object)?.deliver(makeMessage(), name: name, object: object, in: self)
    }
}

// MARK: - Whom it reaches

extension LocalCenter {
    @inline(__always)
    func observers(of name: NotificationName, object: NotificationObject?) -> ObserverList? {
        switch cache.find(name, object: object?.key) {
        case .unobserved: nil
        case .observers(let list): list
        case .miss: resolve(name, object: object)
        }
    }

    @inline(never)
    private func resolve(_ name: NotificationName, object: NotificationObject?) -> ObserverList? {
        let (list, dropped) = state.withLock { state in
            let list = state.resolve(name, object: object?.key)
            guard list != nil || state.admitsUnobservedName() else { return (list, PostTable.Dropped()) }
            let limit = Self.cacheLimit + state.core.nameCount
            return (list, cache.insert(list, for: name, object: object?.key, limit: limit))
        }
        // Not under the lock: with the last reference, what a closure held may call the center.
        withExtendedLifetime(dropped) {}
        return list
    }

    /// The slow path of a post: interceptors and the hook for unobserved posts run.
    @inline(never)
    func postSlowPath(_ notification: LocalNotification) {
        intercepted(notification) { notification in
            let list = observers(of: notification.name, object: notification.object)
            reportIfUnobserved(notification, by: list)
            list?.deliver(notification, in: self)
        }
    }
}

extension LocalCenter.State {
    /// Of the names that reach no observer, admits one in 16 to the cache: one that is posted again gets in soon, while those
    /// that never come again cost no insertion, which takes longer than the rest of the post.
    mutating func admitsUnobservedName() -> Bool {
        unobservedPosts &+= 1
        return unobservedPosts % 16 == 0
    }

    /// The observers that a post reaches, or nil if there are none.
    mutating func resolve(_ name: NotificationName, object: ObjectKey?) -> ObserverList? {
        let registrations =
            if let object {
                object.withBytes { core.gather(name, object: $0) }
            } else {
                core.gather(name, object: nil)
            }
        if registrations.isEmpty { return nil }
        var list: ContiguousArray<Observer> = []
        list.reserveCapacity(registrations.count)
        for registration in registrations {
            // There is one: both change under the same lock.
            if let observer = observers.value(at: Int(registration.slot)) { list.append(observer) }
        }
        return ObserverList(list)
    }
}
