/// Observers that run on the main actor.
extension LocalCenter {
    /// Observes names on the main actor until the token is released.
    ///
    /// A post from the main actor calls the observer in place: it has been called when the post returns, as far as its first
    /// suspension. Posts from elsewhere are buffered until the main actor is free. Order is kept: while something is
    /// buffered, or a call is in progress, a post from the main actor is buffered behind it.
    ///
    /// No call begins after the observation has ended. A call that has begun on another thread goes on, and is not cancelled.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - actor: `MainActor.shared`.
    ///   - buffering: How many notifications may wait, and which are dropped.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Errors that it throws go to ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it is released or cancelled.
    /// - Throws: ``NameError`` if the names are strings and break a rule; nothing otherwise.
    public func observe<Names: NotificationNames>(
        _ names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationToken {
        try observe(
            names, object: object, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message on the main actor until the token is released. See
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

    /// Observes names on the main actor for as long as the owner lives.
    ///
    /// The center holds the owner weakly: when the owner is released, what is buffered is dropped. The rest is as without
    /// owner: ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,MainActor,_,_,_,_)``.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - owner: The object that the observation belongs to.
    ///   - options: How to observe. A key is unique among the observations of the owner.
    ///   - actor: `MainActor.shared`.
    ///   - buffering: How many notifications may wait, and which are dropped.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Errors that it throws go to ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it or to end it before its owner is released.
    /// - Throws: ``NameError`` if the names are strings and break a rule; nothing otherwise.
    @discardableResult
    public func observe<Names: NotificationNames, Owner: AnyObject & Sendable>(
        _ names: Names, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> Observation {
        try observe(
            names, object: object, owner: owner, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message on the main actor for as long as the owner lives. See
    /// ``observe(_:object:owner:options:on:buffering:fileID:line:using:)-(Names,_,_,_,MainActor,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, Message) async throws -> Void
    ) -> Observation {
        observe(
            type, object: object, owner: owner, options: options, on: ObserverExecutor.serially, buffering: buffering,
            fileID: fileID, line: line, using: body)
    }
}
