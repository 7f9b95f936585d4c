extension LocalCenter {
    /// A sequence of what is posted under these names from now on.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, a string with either, an array of them, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe.
    ///   - buffering: How many notifications may wait to be read, and which are dropped.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    /// - Throws: ``NameError`` if the names are strings and break a rule; nothing otherwise.
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

    /// A sequence of the messages of a type that are posted from now on. See
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
