extension LocalCenter {
    /// Observes names on an actor, for as long as the actor lives.
    ///
    /// The center holds the actor weakly and hands it to the closure, which should use that and not capture it: also what
    /// waits goes when the actor does. Who ends the observation on the actor can be sure that no call begins afterwards.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - actor: Where the observer runs, and whose observation it is.
    ///   - buffering: How many may wait, and what happens to the others.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: What it throws is told to ``CenterHooks/failed``. A call that has begun is not cancelled with the
    ///     observation.
    /// - Returns: The observation, for who wants to pause it or end it earlier.
    @discardableResult
    public func observe<Isolation: Actor>(
        _ names: some NotificationNames, object: NotificationObject? = nil,
        options: ObservationOptions = ObservationOptions(),
        on actor: Isolation, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (isolated Isolation, LocalNotification) async throws -> Void
    ) -> Observation {
        return register(
            names.observedNames, object: object, owner: actor, options: options,
            place: SourcePlace(fileID: fileID, line: line), ObserverDelivery(on: actor, buffering, body))
    }

    /// Observes the names that a pattern, or a name, stands for, on an actor, for as long as the actor lives.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    @discardableResult
    public func observe<Isolation: Actor>(
        _ pattern: String, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: Isolation, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (isolated Isolation, LocalNotification) async throws -> Void
    ) throws(NameError) -> Observation {
        observe(
            try NamePattern(pattern), object: object, options: options, on: actor,
            buffering: buffering, fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message on an actor, for as long as the actor lives.
    @discardableResult
    public func observe<Isolation: Actor, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: Isolation, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (isolated Isolation, Message) async throws -> Void
    ) -> Observation {
        let delivery = ObserverDelivery(on: actor, buffering) {
            (actor: isolated Isolation, notification: LocalNotification) in
            if let message = notification.payload as? Message { try await body(actor, message) }
        }
        return register(
            type.notificationName.observedNames, object: object, owner: actor, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
    }
}
