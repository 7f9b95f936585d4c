extension LocalCenter {
    /// Observes names with a method of the owner that runs on the main actor: `calling: Screen.didFollow`.
    ///
    /// See ``observe(_:object:owner:options:on:buffering:fileID:line:using:)-(NotificationNames,_,_,_,_,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ names: some NotificationNames, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (LocalNotification) throws -> Void
    ) -> Observation {
        observe(
            names, object: object, owner: owner, options: options, on: actor, buffering: buffering, fileID: fileID,
            line: line
        ) { owner, notification in try method(owner)(notification) }
    }

    /// Observes the names that a pattern, or a name, stands for, with a method of the owner that runs on the main actor.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (LocalNotification) throws -> Void
    ) throws(NameError) -> Observation {
        observe(
            try NamePattern(pattern), object: object, owner: owner, options: options, on: actor,
            buffering: buffering, fileID: fileID, line: line, calling: method)
    }

    /// Observes a type of message with a method of the owner that runs on the main actor.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (Message) throws -> Void
    ) -> Observation {
        observe(
            type, object: object, owner: owner, options: options, on: actor, buffering: buffering, fileID: fileID,
            line: line
        ) { owner, message in try method(owner)(message) }
    }
}

// MARK: - Without saying where

// The compiler forgets that an unapplied method is one of the main actor's where a function of any thread is asked for, and
// would let it run on the threads of posters. With these beside them the calls without `on:` are ambiguous for such a
// method, and for no other one.
extension LocalCenter {
    /// Makes it an error to name a method of the main actor without `on: MainActor.shared`.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ names: some NotificationNames, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (LocalNotification) throws -> Void
    ) -> Observation {
        observe(
            names, object: object, owner: owner, options: options, on: MainActor.shared, fileID: fileID, line: line,
            calling: method)
    }

    /// Makes it an error to name a method of the main actor without `on: MainActor.shared`.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (LocalNotification) throws -> Void
    ) throws(NameError) -> Observation {
        try observe(
            pattern, object: object, owner: owner, options: options, on: MainActor.shared, fileID: fileID, line: line,
            calling: method)
    }

    /// Makes it an error to name a method of the main actor without `on: MainActor.shared`.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (Message) throws -> Void
    ) -> Observation {
        observe(
            type, object: object, owner: owner, options: options, on: MainActor.shared, fileID: fileID, line: line,
            calling: method)
    }
}
