extension LocalCenter {
    /// Returns a sequence of the notifications that are posted from now on and match the names.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object match.
    ///   - options: Options such as `.once` or a filter.
    ///   - buffering: The limit of the buffer of each reader, and the policy when it is full.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    public func notifications<Names: NotificationNames>(
        for names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line
    ) throws(Names.Failure) -> NotificationSequence<LocalNotification> {
        let readers = SequenceReaders<LocalNotification>(buffering, isOnce: options.isOnce) { $0 }
        var receiver = Receiver.notifications { readers.put($0) }
        receiver.queue = readers
        let observation = register(
            try names.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: receiver)
        return NotificationSequence(
            SequenceSubscription(readers, ObservationToken(observation), isOnce: options.isOnce))
    }

    /// Returns a sequence of the messages of a type that are posted from now on. See
    /// ``notifications(for:object:options:buffering:fileID:line:)``.
    public func messages<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line
    ) -> NotificationSequence<Message> {
        let readers = SequenceReaders<Message>(buffering, isOnce: options.isOnce) { $0.payload as? Message }
        var receiver = Receiver.messages { readers.put($0) }
        receiver.queue = readers
        let observation = register(
            type.notificationName.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: receiver)
        return NotificationSequence(
            SequenceSubscription(readers, ObservationToken(observation), isOnce: options.isOnce))
    }
}
