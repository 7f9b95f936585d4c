extension LocalCenter {
    /// Observes names for as long as the owner lives.
    ///
    /// The center holds the owner weakly and hands it to the closure, which should use that and not capture the owner: then
    /// nothing has to be removed and nothing is kept alive.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - owner: Whose observation it is.
    ///   - options: How to observe. A key is unique among the observations of the owner.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    ///   - body: Called with the owner on the thread of each poster, so perhaps on several at once. What it throws is told to
    ///     ``CenterHooks/failed``.
    /// - Returns: The observation, for who wants to pause it or end it before the owner goes.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ names: some NotificationNames, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, LocalNotification) throws -> Void
    ) -> Observation {
        register(
            names.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: .notifications(body))
    }

    /// Observes the names that a pattern, or a name, stands for, for as long as the owner lives.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, LocalNotification) throws -> Void
    ) throws(NameError) -> Observation {
        observe(
            try NamePattern(pattern), object: object, owner: owner, options: options, fileID: fileID, line: line,
            using: body)
    }

    /// Observes a type of message for as long as the owner lives. See
    /// ``observe(_:object:owner:options:fileID:line:using:)-(NotificationNames,_,_,_,_,_,_)``.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> Observation {
        register(
            type.notificationName.observedNames, object: object, owner: owner, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: .messages(body))
    }
}

// MARK: - With a method of the main actor

// The compiler forgets that an unapplied method is one of the main actor's where a function of any thread is asked for, and
// would let it run on the threads of posters. With these beside them the calls without `on:` are ambiguous for such a
// method, and for no other one. They come before those: where an object is made with `.init`, the compiler prefers the later.
extension LocalCenter {
    /// Makes it an error to name a method of the main actor without `on: MainActor.shared`.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ names: some NotificationNames, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (LocalNotification) throws -> Void
    ) -> Observation {
        observe(
            names, object: object, owner: owner, options: options, on: MainActor.shared, fileID: fileID, line: line,
            calling: method)
    }

    /// Makes it an error to name a method of the main actor without `on: MainActor.shared`.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (LocalNotification) throws -> Void
    ) throws(NameError) -> Observation {
        try observe(
            pattern, object: object, owner: owner, options: options, on: MainActor.shared, fileID: fileID, line: line,
            calling: method)
    }

    /// Makes it an error to name a method of the main actor without `on: MainActor.shared`.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @MainActor @Sendable (Owner) -> @MainActor (Message) throws -> Void
    ) -> Observation {
        observe(
            type, object: object, owner: owner, options: options, on: MainActor.shared, fileID: fileID, line: line,
            calling: method)
    }
}

// MARK: - With a method

extension LocalCenter {
    /// Observes names with a method of the owner, named as it stands in the type: `calling: Controller.didFollow`.
    ///
    /// The method runs on the thread of each poster. For one of the main actor say `on: MainActor.shared` as well; otherwise
    /// the compiler calls it ambiguous. It cannot tell methods of other global actors, which must not be named here: call
    /// them in an `async` closure.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ names: some NotificationNames, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @Sendable (Owner) -> (LocalNotification) throws -> Void
    ) -> Observation {
        observe(names, object: object, owner: owner, options: options, fileID: fileID, line: line) {
            try method($0)($1)
        }
    }

    /// Observes the names that a pattern, or a name, stands for, with a method of the owner.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable>(
        _ pattern: String, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(), fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @Sendable (Owner) -> (LocalNotification) throws -> Void
    ) throws(NameError) -> Observation {
        observe(
            try NamePattern(pattern), object: object, owner: owner, options: options, fileID: fileID, line: line,
            calling: method)
    }

    /// Observes a type of message with a method of the owner, named as it stands in the type.
    @discardableResult
    public func observe<Owner: AnyObject & Sendable, Message: NotificationMessage>(
        _ type: Message.Type, object: NotificationObject? = nil, owner: Owner,
        options: ObservationOptions = ObservationOptions(),
        fileID: StaticString = #fileID, line: UInt = #line,
        calling method: @escaping @Sendable (Owner) -> (Message) throws -> Void
    ) -> Observation {
        observe(type, object: object, owner: owner, options: options, fileID: fileID, line: line) {
            try method($0)($1)
        }
    }
}
