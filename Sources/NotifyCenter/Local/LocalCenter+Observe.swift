/// Observers that run on the thread of each poster.
extension LocalCenter {
    /// Observes names until the token is released.
    ///
    /// ```swift
    /// let token = try center.observe("orders.*") { print($0.name) }
    /// ```
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called on the thread of each poster, so perhaps on several at once. Errors that it throws go to
    ///     ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it is released or cancelled.
    /// - Throws: ``NameError`` if the names are strings and break a rule; nothing otherwise.
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

    /// Observes a type of message until the token is released.
    ///
    /// - Parameters:
    ///   - type: Which messages.
    ///   - object: If not nil, only messages with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called on the thread of each poster, so perhaps on several at once. Errors that it throws go to
    ///     ``CenterHooks/failed``.
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

    /// Observes names for as long as the owner lives.
    ///
    /// The center holds the owner weakly and passes it to the closure, which should use that parameter and not capture the
    /// owner: then nothing has to be removed and nothing is kept alive. A method is called as
    /// `center.observe(name, owner: self) { $0.didPost($1) }`; if it belongs to a global actor, write `await` before the call,
    /// which then runs there.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - owner: The object that the observation belongs to.
    ///   - options: How to observe. A key is unique among the observations of the owner.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called with the owner on the thread of each poster, so perhaps on several at once. Errors that it throws go
    ///     to ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it or to end it before its owner is released.
    /// - Throws: ``NameError`` if the names are strings and break a rule; nothing otherwise.
    @discardableResult
    public func observe<Names: NotificationNames, Owner: AnyObject & Sendable>(
        _ names: Names, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, LocalNotification) throws -> Void
    ) throws(Names.Failure) -> Observation {
        register(
            try names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: .notifications(body))
    }

    /// Observes a type of message for as long as the owner lives. See
    /// ``observe(_:object:owner:options:fileID:line:using:)-(Names,_,_,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> Observation {
        register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: .messages(body))
    }
}
