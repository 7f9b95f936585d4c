extension LocalCenter {
    /// Observes names, until the token goes.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: Called on the thread of each poster, so perhaps on several at once. What it throws is told to
    ///     ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it goes or is cancelled.
    public func observe(
        _ names: some NotificationNames, object: NotificationObject? = nil,
        options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (LocalNotification) throws -> Void
    ) -> ObservationToken {
        ObservationToken(
            register(
                names.observedNames, object: object, options: options, place: SourcePlace(fileID: fileID, line: line),
                receiver: .notifications(body)))
    }

    /// Observes the names that a pattern, or a name, stands for, until the token goes.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    public func observe(
        _ pattern: String, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (LocalNotification) throws -> Void
    ) throws(NameError) -> ObservationToken {
        observe(
            try NamePattern(pattern), object: object, options: options, fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message, until the token goes.
    ///
    /// - Parameters:
    ///   - type: Which messages.
    ///   - object: If not nil, only messages with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: Called on the thread of each poster, so perhaps on several at once. What it throws is told to
    ///     ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it goes or is cancelled.
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
}
