extension LocalCenter {
    /// Posts a notification to every matching observer. Returns after the last call on the poster's thread.
    ///
    /// - Parameters:
    ///   - name: The name of the notification.
    ///   - object: The object that the post concerns. Observers that filter by object match only if their object is
    ///     equal.
    ///   - payload: Passed to the observers unchanged.
    @inlinable
    public func post(
        _ name: NotificationName, object: consuming NotificationObject? = nil, payload: (any Sendable)? = nil
    ) {
        // Inlined, because most callers pass constants for the object and the payload. The payload is not bound: to copy
        // an optional payload, Swift looks up metadata at run time, even if there is no payload.
        if payload != nil { return post(named: name, object: object, payload: payload) }
        switch consume object {
        case nil: post(named: name)
        case let object?: post(named: name, object: object)
        }
    }

    /// Posts a notification without an object and a payload.
    @usableFromInline
    func post(named name: NotificationName) {
        guard canTakeFastPath else { return postSlowPath(LocalNotification(named: name)) }
        observers(of: name, object: nil)?.deliver(LocalNotification(named: name), in: self)
    }

    /// Posts a notification without a payload. Consumes the object, because many objects are created for one post.
    @usableFromInline
    func post(named name: NotificationName, object: consuming NotificationObject) {
        guard canTakeFastPath else { return postSlowPath(LocalNotification(named: name, object: object)) }
        // Not by `observers(of:object:)`, whose optional parameter would be a copy of the object.
        switch cache.find(name, object: object.key) {
        case .unobserved: return
        case .observers(let list): list.deliver(LocalNotification(named: name, object: object), in: self)
        case .miss: deliverResolving(LocalNotification(named: name, object: object))
        }
    }

    /// Posts a notification with a payload.
    @usableFromInline
    func post(named name: NotificationName, object: NotificationObject?, payload: (any Sendable)?) {
        guard canTakeFastPath else {
            return postSlowPath(LocalNotification(name: name, object: object, payload: payload))
        }
        observers(of: name, object: object)?
            .deliver(LocalNotification(name: name, object: object, payload: payload), in: self)
    }

    /// Checks the name and posts a notification. See ``post(_:object:payload:)-(NotificationName,_,_)``.
    ///
    /// - Throws: ``NameError`` if the name is not valid.
    public func post(
        _ name: String, object: NotificationObject? = nil, payload: (any Sendable)? = nil
    ) throws(NameError) {
        post(try NotificationName(name), object: object, payload: payload)
    }

    /// Posts a notification to every matching observer. Returns after the last call on the poster's thread.
    public func post(_ notification: LocalNotification) {
        guard canTakeFastPath else { return postSlowPath(notification) }
        observers(of: notification.name, object: notification.object)?.deliver(notification, in: self)
    }

    /// Posts a message to the observers of its type or name. Returns after the last call on the poster's thread.
    public func post<Message: NotificationMessage>(_ message: Message) {
        post(Message.notificationName, object: message.notificationObject, message: message)
    }

    /// Posts a message with the given object instead of the message's own. See ``post(_:)-(Message)``.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - object: The object that the post concerns. Observers that filter by object match only if their object is
    ///     equal.
    public func post<Message: NotificationMessage>(_ message: Message, object: NotificationObject) {
        post(Message.notificationName, object: object, message: message)
    }

    /// Posts a message of any type under a name. The post reaches the observers of the name that accept messages of
    /// this type.
    package func post<Message: Sendable>(_ name: NotificationName, object: NotificationObject?, message: Message) {
        guard canTakeFastPath else {
            return postSlowPath(LocalNotification(name: name, object: object, payload: message))
        }
        observers(of: name, object: object)?.deliver(message, name: name, object: object, in: self)
    }

    /// Posts a message of any type under a name. On the fast path, the message is created only if the post reaches an
    /// observer.
    package func post<Message: Sendable>(
        _ name: NotificationName, object: NotificationObject?, makingMessage makeMessage: () -> Message
    ) {
        guard canTakeFastPath else {
            return postSlowPath(LocalNotification(name: name, object: object, payload: makeMessage()))
        }
        observers(of: name, object: object)?.deliver(makeMessage(), name: name, object: object, in: self)
    }
}

// MARK: - Resolving

extension LocalCenter {
    @inline(__always)
    func observers(of name: NotificationName, object: NotificationObject?) -> ObserverList? {
        switch cache.find(name, object: object?.key) {
        case .unobserved: nil
        case .observers(let list): list
        case .miss: resolve(name, object: object)
        }
    }

    /// Delivers a notification whose name and object are not in the cache.
    @inline(never)
    private func deliverResolving(_ notification: LocalNotification) {
        resolve(notification.name, object: notification.object)?.deliver(notification, in: self)
    }

    @inline(never)
    private func resolve(_ name: NotificationName, object: NotificationObject?) -> ObserverList? {
        let (list, dropped) = state.withLock { state in
            let list = state.resolve(name, object: object?.key)
            guard list != nil || state.admitsUnobservedName() else { return (list, PostTable.Dropped()) }
            let limit = Self.cacheLimit + state.core.nameCount
            return (list, cache.insert(list, for: name, object: object?.key, limit: limit))
        }
        // Released outside the lock: deinitializers of a closure's captures may call the center.
        withExtendedLifetime(dropped) {}
        return list
    }

    /// The slow path of a post: runs interceptors and the hook for unobserved posts.
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
    /// Admits one in 16 posts without observers to the cache. Names that are posted repeatedly are soon cached, while
    /// names that are posted once rarely cost an insertion. An insertion takes longer than the rest of the post.
    ///
    /// - Returns: Whether to cache the name.
    mutating func admitsUnobservedName() -> Bool {
        unobservedPosts &+= 1
        return unobservedPosts % 16 == 0
    }

    /// Returns the observers that a post reaches; nil if there are none.
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
            // Always non-nil: the core and the observers change under the same lock.
            if let observer = observers.value(at: Int(registration.slot)) { list.append(observer) }
        }
        return ObserverList(list)
    }
}
