/// Observers that run on an actor.
extension LocalCenter {
    /// Observes names on an actor for as long as the actor lives.
    ///
    /// The center holds the actor weakly and passes it to the closure, which should use that parameter and not capture the
    /// actor: when the actor is released, what is buffered is dropped.
    ///
    /// No call begins after the observation has ended. A call that has begun on another thread goes on, and is not cancelled.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe, such as `.once` or `.priority(1)`.
    ///   - actor: Where the observer runs, and the owner of the observation.
    ///   - buffering: How many notifications may wait, and which are dropped.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Errors that it throws go to ``CenterHooks/failed``.
    /// - Returns: The observation, to pause it or to end it before the actor is released.
    /// - Throws: ``NameError`` if the names are strings and break a rule; nothing otherwise.
    @discardableResult
    public func observe<Names: NotificationNames, Isolation: Actor>(
        _ names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        on actor: Isolation, buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (isolated Isolation, LocalNotification) async throws -> Void
    ) throws(Names.Failure) -> Observation {
        register(
            try names.observedNames, object: object, owner: actor, options: options,
            place: SourcePlace(fileID: fileID, line: line), ObserverDelivery(on: actor, buffering, body))
    }

    /// Observes a type of message on an actor for as long as the actor lives. See
    /// ``observe(_:object:options:on:buffering:fileID:line:using:)-(Names,_,_,Isolation,_,_,_,_)``.
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
