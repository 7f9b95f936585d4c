/// Observers that run on the poster's thread.
extension LocalCenter {
    /// Observes names until the token is released.
    ///
    /// ```swift
    /// let token = try center.observe("orders.*") { print($0.name) }
    /// ```
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - options: Options such as `.once` or `.priority(1)`.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called on the poster's thread, possibly on several threads concurrently. Errors that it throws are
    ///     reported to ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it is released or cancelled.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func observe<Names: NotificationNames>(
        _ names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (LocalNotification) throws -> Void
    ) throws(Names.Failure) -> ObservationToken {
        ObservationToken(
            register(
                try names.observedNames, object: object, options: options,
                place: SourcePlace(fileID: fileID, line: line), receiver: .notifications(body)))
    }

    /// Observes messages of a type until the token is released.
    ///
    /// - Parameters:
    ///   - type: The type of the messages.
    ///   - object: If not nil, only messages with an equal object match.
    ///   - options: Options such as `.once` or `.priority(1)`.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called on the poster's thread, possibly on several threads concurrently. Errors that it throws are
    ///     reported to ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it is released or cancelled.
    public func observe<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Message) throws -> Void
    ) -> ObservationToken {
        ObservationToken(
            register(
                type.notificationName.observedNames, object: object, options: options,
                place: SourcePlace(fileID: fileID, line: line), receiver: .messages(body)))
    }

    /// Observes names until the owner is released.
    ///
    /// The center holds the owner weakly and passes it to the closure. A closure that uses this parameter instead of
    /// capturing the owner does not keep the owner alive, and the observation ends with the owner.
    ///
    /// To call a method of the owner, write `center.observe(name, owner: self) { $0.didPost($1) }`. If the method is
    /// isolated to a global actor, write `await` before the call, so that the method runs on that actor.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - owner: The object whose release ends the observation.
    ///   - options: Options such as `.once`. ``ObservationOptions/key(_:)`` replaces only an observation of the same
    ///     owner.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called with the owner on the poster's thread, possibly on several threads concurrently. Errors that it
    ///     throws are reported to ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it, or to end it before the owner is released.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    @discardableResult
    public func observe<Names: NotificationNames, Owner: AnyObject & Sendable>(
        _ names: Names, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, LocalNotification) throws -> Void
    ) throws(Names.Failure) -> ObservationHandle {
        register(
            try names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: .notifications(body))
    }

    /// Observes messages of a type until the owner is released. See
    /// ``observe(_:object:owner:options:fileID:line:using:)-(Names,_,_,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ObservationHandle {
        register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: .messages(body))
    }
}
