/// Observers that run on an actor.
extension LocalCenter {
    /// Observes names on an actor until the actor is released.
    ///
    /// The center holds the actor weakly and passes it to the closure. A closure that uses this parameter instead of
    /// capturing the actor does not keep the actor alive. When the actor is released, buffered notifications are
    /// dropped.
    ///
    /// No call begins after the observation has ended. A call in progress continues and is not cancelled.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - options: Options such as `.once` or `.priority(1)`.
    ///   - actor: The actor on which the observer runs. Its release ends the observation.
    ///   - buffering: The limit of the buffer, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called on the actor for each notification. Errors that it throws are reported to
    ///     ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it, or to end it before the actor is released.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    @discardableResult
    public func observe<Names: NotificationNames, Isolation: Actor>(
        _ names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: Isolation, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (isolated Isolation, LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationHandle {
        register(
            try names.observedNames, object: object, owner: actor, options: options,
            place: SourcePlace(fileID: fileID, line: line), ObserverDelivery(on: actor, buffering, body))
    }

    /// Observes messages of a type on an actor until the actor is released. See
    /// ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,Isolation,_,_,_,_)``.
    @discardableResult
    public func observe<Isolation: Actor, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: Isolation, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (isolated Isolation, Message) async throws -> Void
    ) -> ObservationHandle {
        let delivery = ObserverDelivery(on: actor, buffering) {
            (actor: isolated Isolation, notification: LocalNotification) in
            if let message = notification.payload as? Message { try await body(actor, message) }
        }
        return register(
            type.notificationName.observedNames, object: object, owner: actor, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
    }

    /// Observes names on an actor until the owner is released. The actor is usually a global actor:
    ///
    /// ```swift
    /// center.observe(name, owner: shelf, on: Storage.shared) { @Storage shelf, notification in
    ///     shelf.add(notification)
    /// }
    /// ```
    ///
    /// A closure that is isolated to a global actor, such as `{ @Storage shelf, notification in … }`, runs on that
    /// actor; any other closure runs on `actor`.
    ///
    /// The center holds the owner weakly, and the actor strongly while the observation lasts. When the owner is
    /// released, buffered notifications are dropped.
    ///
    /// No call begins after the observation has ended. A call in progress continues and is not cancelled.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - owner: The object whose release ends the observation.
    ///   - options: Options such as `.once`. ``ObservationOptions/key(_:)`` replaces only an observation of the same
    ///     owner.
    ///   - actor: The actor on which the observer runs.
    ///   - buffering: The limit of the buffer, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called with the owner on the actor for each notification. Errors that it throws are reported to
    ///     ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it, or to end it before the owner is released.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    @_disfavoredOverload  // The main actor has its own overload, whose closure needs no attribute.
    @discardableResult
    public func observe<Names: NotificationNames, Owner: AnyObject & Sendable>(
        _ names: Names, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: some Actor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: nonisolated(nonsending) @escaping @Sendable (Owner, LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationHandle {
        register(
            try names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line),
            ObserverDelivery(on: .serially, buffering, isolation: actor, owner: owner, body))
    }

    /// Observes messages of a type on an actor until the owner is released. See
    /// ``observe(_:object:owner:options:on:buffering:fileID:line:using:)-(Names,_,_,_,Actor,_,_,_,_)``.
    @_disfavoredOverload
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: some Actor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: nonisolated(nonsending) @escaping @Sendable (Owner, Message) async throws -> Void
    ) -> ObservationHandle {
        // A nested function, because a closure of several statements would run on another executor.
        @Sendable nonisolated(nonsending) func receive(_ owner: Owner, _ notification: LocalNotification) async throws {
            if let message = notification.payload as? Message { try await body(owner, message) }
        }
        let delivery = ObserverDelivery(on: .serially, buffering, isolation: actor, owner: owner, receive)
        return register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
    }
}
