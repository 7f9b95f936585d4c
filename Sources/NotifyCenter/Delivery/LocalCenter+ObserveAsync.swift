/// Observers that run in tasks, on a queue, or on the actor of their closure.
extension LocalCenter {
    /// Observes names in tasks or on a queue until the token is released.
    ///
    /// An `async` closure selects this overload, even without `on:`. Notifications are buffered for the observer. Its
    /// calls begin in the order of the posts. A closure that is isolated to a global actor, such as
    /// `{ @MainActor in … }`, runs on that actor. If the closure is not `async`, pass `on: .serially` to select this
    /// overload.
    ///
    /// No call begins after the observation has ended. A call in progress continues and is not cancelled.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - options: Options such as `.once` or `.priority(1)`.
    ///   - executor: Where the observer runs.
    ///   - buffering: The limit of the buffer, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called for each notification. Errors that it throws are reported to ``CenterHooks/failed``.
    /// - Returns: A token that ends the observation when it is released or cancelled.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func observe<Names: NotificationNames>(
        _ names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @isolated(any) @Sendable (LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationToken {
        let delivery = ObserverDelivery(on: executor, buffering, isolation: body.isolation) { try await body($0) }
        return ObservationToken(
            register(
                try names.observedNames, object: object, options: options,
                place: SourcePlace(fileID: fileID, line: line), delivery))
    }

    /// Observes messages of a type in tasks or on a queue until the token is released. See
    /// ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,ObserverExecutor,_,_,_,_)``.
    public func observe<Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) -> ObservationToken {
        let delivery = ObserverDelivery(on: executor, buffering, isolation: body.isolation) { notification in
            if let message = notification.payload as? Message { try await body(message) }
        }
        return ObservationToken(
            register(
                type.notificationName.observedNames, object: object, options: options,
                place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type)))
    }

    /// Observes names in tasks or on a queue until the owner is released.
    ///
    /// The center holds the owner weakly. When the owner is released, buffered notifications are dropped. Otherwise
    /// this behaves like
    /// ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,ObserverExecutor,_,_,_,_)``.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - owner: The object whose release ends the observation.
    ///   - options: Options such as `.once`. ``ObservationOptions/key(_:)`` replaces only an observation of the same
    ///     owner.
    ///   - executor: Where the observer runs.
    ///   - buffering: The limit of the buffer, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Called with the owner for each notification. Errors that it throws are reported to
    ///     ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it, or to end it before the owner is released.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    @discardableResult
    public func observe<Names: NotificationNames, Owner: AnyObject & Sendable>(
        _ names: Names, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @isolated(any) @Sendable (Owner, LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> ObservationHandle {
        let delivery = ObserverDelivery(on: executor, buffering, isolation: body.isolation, owner: owner) {
            try await body($0, $1)
        }
        return register(
            try names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery)
    }

    /// Observes messages of a type in tasks or on a queue until the owner is released. See
    /// ``observe(_:object:owner:options:on:buffering:fileID:line:using:)-(Names,_,_,_,ObserverExecutor,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        on executor: ObserverExecutor = .serially, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID,
        line: UInt = #line,
        using body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) -> ObservationHandle {
        let delivery = ObserverDelivery(on: executor, buffering, isolation: body.isolation, owner: owner) {
            if let message = $1.payload as? Message { try await body($0, message) }
        }
        return register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), delivery.accepting(type))
    }
}
