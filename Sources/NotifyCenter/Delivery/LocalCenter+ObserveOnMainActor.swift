extension LocalCenter {
    /// Observes names on the main actor, until the token goes.
    ///
    /// Who ends the observation on the main actor can be sure that no call begins afterwards.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - actor: `MainActor.shared`.
    ///   - buffering: How many may wait, and what happens to the others.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: What it throws is told to ``CenterHooks/failed``. A call that has begun is not cancelled with the
    ///     observation.
    /// - Returns: A token that ends the observation when it goes or is cancelled.
    public func observe(
        _ names: some NotificationNames, object: NotificationObject? = nil,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (LocalNotification) async throws -> Void
    ) -> ObservationToken {
        let observation = register(
            names.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), ObserverDelivery(onMain: buffering, body))
        return ObservationToken(observation)
    }

    /// Observes the names that a pattern, or a name, stands for, on the main actor, until the token goes.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    public func observe(
        _ pattern: String, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (LocalNotification) async throws -> Void
    ) throws(NameError) -> ObservationToken {
        observe(
            try NamePattern(pattern), object: object, options: options, on: actor,
            buffering: buffering, fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message on the main actor, until the token goes.
    public func observe<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Message) async throws -> Void
    ) -> ObservationToken {
        let delivery = ObserverDelivery(onMain: buffering) { @MainActor notification in
            if let message = notification.payload as? Message { try await body(message) }
        }
        let observation = register(
            type.notificationName.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
        return ObservationToken(observation)
    }

    /// Observes names on the main actor, for as long as the owner lives.
    ///
    /// The center holds the owner weakly: also what waits goes when the owner does. Who ends the observation on the main
    /// actor can be sure that no call begins afterwards.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - owner: Whose observation it is.
    ///   - options: How to observe. A key is unique among the observations of the owner.
    ///   - actor: `MainActor.shared`.
    ///   - buffering: How many may wait, and what happens to the others.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: What it throws is told to ``CenterHooks/failed``. A call that has begun is not cancelled with the
    ///     observation.
    /// - Returns: The observation, for who wants to pause it or end it earlier.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ names: some NotificationNames, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, LocalNotification) async throws -> Void
    ) -> Observation {
        return register(
            names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), ObserverDelivery(onMain: buffering, owner: owner, body))
    }

    /// Observes the names that a pattern, or a name, stands for, on the main actor, for as long as the owner lives.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, LocalNotification) async throws -> Void
    ) throws(NameError) -> Observation {
        observe(
            try NamePattern(pattern), object: object, owner: owner, options: options, on: actor,
            buffering: buffering, fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message on the main actor, for as long as the owner lives.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on actor: MainActor, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @MainActor @Sendable (Owner, Message) async throws -> Void
    ) -> Observation {
        let delivery = ObserverDelivery(onMain: buffering, owner: owner) { @MainActor owner, notification in
            if let message = notification.payload as? Message { try await body(owner, message) }
        }
        return register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
    }
}
