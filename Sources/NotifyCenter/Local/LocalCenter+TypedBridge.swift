/// A bridge for libraries with their own type of message. Posts of other types are converted to this type, and
/// observations are removed by name and object.
extension LocalCenter {
    /// Observes names for messages that are posted with ``post(_:object:message:)``.
    ///
    /// - Parameter convert: Converts the notification of any other post to a message. If the result is nil, the
    ///   observer does not receive the post.
    package func observe<Message: Sendable>(
        _ names: ObservedNames, object: NotificationObject?,
        converting convert: @escaping @Sendable (LocalNotification) -> Message?,
        fileID: StaticString = #fileID, line: UInt = #line,
        using body: @escaping @Sendable (Message) throws -> Void
    ) -> ObservationHandle {
        let receiver = Receiver(
            call: { notification in if let message = convert(notification) { try body(message) } },
            messages: MessageReceiver<Message>(call: body, callOwned: nil, acceptsOthers: true))
        return register(
            names, object: object, place: SourcePlace(fileID: fileID, line: line), receiver: receiver)
    }

    /// Observes names for messages until the owner is released. See
    /// ``observe(_:object:converting:fileID:line:using:)``.
    package func observe<Owner: AnyObject & Sendable, Message: Sendable>(
        _ names: ObservedNames, object: NotificationObject?, owner: Owner,
        converting convert: @escaping @Sendable (LocalNotification) -> Message?, fileID: StaticString, line: UInt,
        using body: @escaping @Sendable (Owner, Message) throws -> Void
    ) -> ObservationHandle {
        // Safe: an observer passes only its own owner, which has this type.
        let callOwned = { @Sendable (owner: Receiver.Owner, message: Message) in
            try body(unsafeDowncast(owner, to: Owner.self), message)
        }
        let receiver = Receiver(
            callOwned: { owner, notification in
                if let message = convert(notification) { try callOwned(owner, message) }
            },
            messages: MessageReceiver<Message>(call: { _ in }, callOwned: callOwned, acceptsOthers: true))
        return register(
            names, object: object, owner: owner, place: SourcePlace(fileID: fileID, line: line),
            receiver: receiver)
    }

    /// Reports an error that an observer throws after the post has returned.
    package func report(
        _ error: any Error, for notification: LocalNotification, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        report(error, at: SourcePlace(fileID: fileID, line: line), for: notification)
    }
}

extension ObservationHandle {
    /// Ends the observation if it belongs to this center and has this name and object; nil matches any.
    package func cancel(in center: LocalCenter, name: NotificationName?, object: NotificationObject?) {
        guard center === self.center else { return }
        let observer = center.state.withLock { $0.observers.value(at: Int(slot)) }
        guard let observer, observer.registration == registration else { return }
        if observer.observes(name?.observedNames, object: object) { center.end(observer) }
    }
}
