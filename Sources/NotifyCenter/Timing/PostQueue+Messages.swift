extension PostQueue {
    /// Enqueues a message. Messages are not coalesced.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - object: The object that the post concerns. If nil, the message's own object is used.
    ///   - style: When to post it.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueue<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, _ style: PostingStyle = .soon
    ) -> Outcome {
        enqueue(LocalNotification(message, object: object), style, .nothing, keeping: .latest)
    }

    /// Enqueues a message. It replaces a pending message of the same type and object that was also enqueued with this
    /// method.
    ///
    /// - Parameters:
    ///   - message: The message. It takes the position of the one that it replaces, unless its style is more urgent.
    ///   - object: The object that the post concerns. If nil, the message's own object is used.
    ///   - style: When to post it. If the message replaces another one, the more urgent of the two styles applies.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueueLatest<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, _ style: PostingStyle = .soon
    ) -> Outcome {
        let key = MessageKey(path: \Message.self, value: ObjectIdentifier(Message.self))
        return enqueueLatest(message, key: key, object: object, style)
    }

    /// Enqueues a message. It replaces a pending message that was enqueued with the same property and has the same
    /// type, object and value of the property.
    ///
    /// ```swift
    /// queue.enqueueLatest(ProgressChanged(download: 7, percent: 30), per: \.download)
    /// ```
    ///
    /// - Parameters:
    ///   - message: The message. It takes the position of the one that it replaces, unless its style is more urgent.
    ///   - path: The property to compare. The `==` and `hash(into:)` of its value must not use a center or a queue.
    ///   - object: The object that the post concerns. If nil, the message's own object is used.
    ///   - style: When to post it. If the message replaces another one, the more urgent of the two styles applies.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueueLatest<Message: NotificationMessage, Value: Hashable & Sendable>(
        _ message: Message, per path: any KeyPath<Message, Value> & Sendable, object: NotificationObject? = nil,
        _ style: PostingStyle = .soon
    ) -> Outcome {
        enqueueLatest(message, key: MessageKey(path: path, value: message[keyPath: path]), object: object, style)
    }

    private func enqueueLatest<Message: NotificationMessage>(
        _ message: Message, key: MessageKey<some Hashable & Sendable>, object: NotificationObject?,
        _ style: PostingStyle
    ) -> Outcome {
        let equality = PostBacklog.Equality(coalescing: [.name, .object], key: NotificationObject(value: key))
        return enqueue(LocalNotification(message, object: object), style, equality, keeping: .latest)
    }
}

/// The key of messages that replace each other: a property and its value.
private struct MessageKey<Value: Hashable & Sendable>: Hashable, Sendable {
    let path: any AnyKeyPath & Sendable
    let value: Value

    static func == (left: MessageKey, right: MessageKey) -> Bool {
        left.path as AnyKeyPath == right.path as AnyKeyPath && left.value == right.value
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(path as AnyKeyPath)
        hasher.combine(value)
    }
}
