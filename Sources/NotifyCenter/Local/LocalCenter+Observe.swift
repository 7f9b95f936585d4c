extension LocalCenter {
    /// Observes all names that a pattern matches, until the token goes.
    ///
    /// - Parameters:
    ///   - pattern: Which names.
    ///   - object: If not nil, only posts with this object; equal if the bytes are.
    ///   - priority: Higher is called first; equal ones in order of registration.
    ///   - body: Called on the thread of each poster, so perhaps on several at once.
    /// - Returns: A token that ends the observation when it goes or is cancelled.
    public func observe(
        _ pattern: NamePattern, object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (LocalNotification) -> Void
    ) -> ObservationToken {
        observe([pattern], object: object, priority: priority, using: body)
    }

    /// Observes one name, until the token goes. See ``observe(_:object:priority:using:)-(NamePattern,_,_,_)``.
    public func observe(
        _ name: NotificationName, object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (LocalNotification) -> Void
    ) -> ObservationToken {
        observe([NamePattern(name)], object: object, priority: priority, using: body)
    }

    /// Observes all names that one of the patterns matches, until the token goes. What several of them match comes once.
    public func observe(
        _ patterns: [NamePattern], object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (LocalNotification) -> Void
    ) -> ObservationToken {
        ObservationToken(
            center: self, observer: add(patterns: patterns, object: object, priority: priority, body: .closure(body)))
    }

    /// Observes every name, until the token goes.
    public func observeEveryName(
        object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (LocalNotification) -> Void
    ) -> ObservationToken {
        observe([.everyName], object: object, priority: priority, using: body)
    }
}

// MARK: - With an owner

extension LocalCenter {
    /// Observes all names that a pattern matches, for as long as the owner lives.
    ///
    /// The center holds the owner weakly and hands it to the closure, which should use that and not capture the owner: then
    /// nothing has to be removed and nothing is kept alive.
    ///
    /// - Parameters:
    ///   - pattern: Which names.
    ///   - owner: Whose observation it is.
    ///   - object: If not nil, only posts with this object; equal if the bytes are.
    ///   - priority: Higher is called first; equal ones in order of registration.
    ///   - body: Called with the owner on the thread of each poster, so perhaps on several at once.
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: NamePattern, owner: Owner, object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (Owner, LocalNotification) -> Void
    ) {
        observe([pattern], owner: owner, object: object, priority: priority, using: body)
    }

    /// Observes one name, for as long as the owner lives. See
    /// ``observe(_:owner:object:priority:using:)-(NamePattern,_,_,_,_)``.
    public func observe<Owner: AnyObject & Sendable>(
        _ name: NotificationName, owner: Owner, object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (Owner, LocalNotification) -> Void
    ) {
        observe([NamePattern(name)], owner: owner, object: object, priority: priority, using: body)
    }

    /// Observes all names that one of the patterns matches, for as long as the owner lives. What several of them match comes
    /// once.
    public func observe<Owner: AnyObject & Sendable>(
        _ patterns: [NamePattern], owner: Owner, object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (Owner, LocalNotification) -> Void
    ) {
        let deliver = { @Sendable [weak owner] (notification: LocalNotification) -> Bool in
            guard let owner else { return false }
            body(owner, notification)
            return true
        }
        let isAlive = { @Sendable [weak owner] in owner != nil }
        _ = add(
            patterns: patterns, object: object, priority: priority, body: .owned(deliver: deliver, isAlive: isAlive))
    }

    /// Observes every name, for as long as the owner lives.
    public func observeEveryName<Owner: AnyObject & Sendable>(
        owner: Owner, object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (Owner, LocalNotification) -> Void
    ) {
        observe([.everyName], owner: owner, object: object, priority: priority, using: body)
    }
}
