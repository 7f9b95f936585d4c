extension LocalCenter {
    /// Observes names in tasks or on a queue, until the token goes.
    ///
    /// An `async` closure means this overload, also without `on:`. What is posted waits for the observer, which gets it in
    /// the order of the posts.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - executor: Where the observer runs.
    ///   - buffering: How many may wait, and what happens to the others.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: What it throws is told to ``CenterHooks/failed``. A call that has begun is not cancelled with the
    ///     observation.
    /// - Returns: A token that ends the observation when it goes or is cancelled.
    public func observe(
        _ names: some NotificationNames, object: NotificationObject? = nil,
        options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @Sendable (LocalNotification) async throws -> Void
    ) -> ObservationToken {
        let observation = register(
            names.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), ObserverDelivery(on: executor, buffering, body))
        return ObservationToken(observation)
    }

    /// Observes the names that a pattern, or a name, stands for, in tasks or on a queue, until the token goes.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    public func observe(
        _ pattern: String, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @Sendable (LocalNotification) async throws -> Void
    ) throws(NameError) -> ObservationToken {
        observe(
            try NamePattern(pattern), object: object, options: options, on: executor,
            buffering: buffering, fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message in tasks or on a queue, until the token goes.
    public func observe<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @Sendable (Message) async throws -> Void
    ) -> ObservationToken {
        let delivery = ObserverDelivery(on: executor, buffering) { notification in
            if let message = notification.payload as? Message { try await body(message) }
        }
        let observation = register(
            type.notificationName.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
        return ObservationToken(observation)
    }

    /// Observes names in tasks or on a queue, for as long as the owner lives.
    ///
    /// The center holds the owner weakly: also what waits goes when the owner does.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - owner: Whose observation it is.
    ///   - options: How to observe. A key is unique among the observations of the owner.
    ///   - executor: Where the observer runs.
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
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @Sendable (Owner, LocalNotification) async throws -> Void
    ) -> Observation {
        return register(
            names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line),
            ObserverDelivery(on: executor, buffering, owner: owner, body))
    }

    /// Observes the names that a pattern, or a name, stands for, in tasks or on a queue,
    /// for as long as the owner lives.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @Sendable (Owner, LocalNotification) async throws -> Void
    ) throws(NameError) -> Observation {
        observe(
            try NamePattern(pattern), object: object, owner: owner, options: options, on: executor,
            buffering: buffering, fileID: fileID, line: line, using: body)
    }

    /// Observes a type of message in tasks or on a queue, for as long as the owner lives.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @Sendable (Owner, Message) async throws -> Void
    ) -> Observation {
        let delivery = ObserverDelivery(on: executor, buffering, owner: owner) { owner, notification in
            if let message = notification.payload as? Message { try await body(owner, message) }
        }
        return register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
    }
}
