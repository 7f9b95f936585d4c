extension LocalCenter {
    /// Observes names with a method of the owner that runs on the main actor: `calling: Screen.didFollow`.
    ///
    /// See ``observe(_:object:owner:options:on:buffering:fileID:line:using:)-(NotificationNames,_,_,_,MainActor,_,_,_,_)``.
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
