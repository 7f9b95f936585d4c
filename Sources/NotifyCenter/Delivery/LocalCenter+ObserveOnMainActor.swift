/// Observers that run on the main actor.
extension LocalCenter {
    /// Observes names on the main actor until the token is released.
    ///
    /// A post from the main actor or the main queue calls the observer directly: when the post returns, the observer
    /// has run up to its first suspension. Posts from elsewhere are buffered until the main actor runs the observer.
    /// Notifications keep their order: a post from the main actor is buffered as well while notifications are buffered
    /// or a call is in progress.
    ///
    /// No call begins after the observation has ended. A call in progress continues and is not cancelled.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - options: Options such as `.once` or `.priority(1)`.
    ///   - actor: `MainActor.shared`.
    ///   - buffering: The limit of the buffer, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called on the main actor for each notification. Errors that it throws are reported to
    ///     ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it is released or cancelled.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func observe<Names: NotificationNames>(
        _ names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationToken {
        try observe(
            names, object: object, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }

    /// Observes messages of a type on the main actor until the token is released. See
    /// ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,MainActor,_,_,_,_)``.
    public func observe<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Message) async throws -> Void
    ) -> ObservationToken {
        observe(
            type, object: object, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }

    /// Observes names on the main actor until the owner is released.
    ///
    /// The center holds the owner weakly. When the owner is released, buffered notifications are dropped. Otherwise
    /// this behaves like ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,MainActor,_,_,_,_)``.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - owner: The object whose release ends the observation.
    ///   - options: Options such as `.once`. ``ObservationOptions/key(_:)`` replaces only an observation of the same
    ///     owner.
    ///   - actor: `MainActor.shared`.
    ///   - buffering: The limit of the buffer, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called with the owner on the main actor for each notification. Errors that it throws are reported to
    ///     ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it, or to end it before the owner is released.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    @discardableResult
    public func observe<Names: NotificationNames, Owner: AnyObject & Sendable>(
        _ names: Names, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationHandle {
        try observe(
            names, object: object, owner: owner, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }

    /// Observes messages of a type on the main actor until the owner is released. See
    /// ``observe(_:object:owner:options:on:buffering:fileID:line:using:)-(Names,_,_,_,MainActor,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, Message) async throws -> Void
    ) -> ObservationHandle {
        observe(
            type, object: object, owner: owner, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }
}
