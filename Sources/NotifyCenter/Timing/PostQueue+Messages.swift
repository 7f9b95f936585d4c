extension PostQueue {
    /// Posts a message now or later. Every message is posted.
    ///
    /// - Parameters:
    ///   - message: What to post.
    ///   - object: What it concerns, if not what the message itself says.
    ///   - style: When.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueue<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, _ style: PostingStyle = .soon
    ) -> Outcome {
        enqueue(LocalNotification(message, object: object), style, .nothing, keeping: .latest)
    }

    /// Posts a message now or later, in place of one of the same type and object that waits and was enqueued in this way.
    ///
    /// - Parameters:
    ///   - message: What to post. It takes the position of the one that it replaces.
    ///   - object: What it concerns, if not what the message itself says.
    ///   - style: When. Of replaced messages, the most urgent says when the last one is posted.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueueLatest<Message: NotificationMessage>(
        _ message: Message, object: NotificationObject? = nil, _ style: PostingStyle = .soon
    ) -> Outcome {
        let key = MessageKey(path: \Message.self, value: ObjectIdentifier(Message.self))
        return enqueueLatest(message, key: key, object: object, style)
    }

    /// Posts a message now or later, in place of one that waits and is equal in one property: of the messages with the same
    /// value, object and type that were enqueued with this property, the last is posted.
    ///
    /// ```swift
    /// queue.enqueueLatest(ProgressChanged(download: 7, percent: 30), per: \.download)
    /// ```
    ///
    /// - Parameters:
    ///   - message: What to post. It takes the position of the one that it replaces.
    ///   - path: The property that makes messages equal. Its `==` and `hash(into:)` must not use a center or a queue.
    ///   - object: What it concerns, if not what the message itself says.
    ///   - style: When. Of replaced messages, the most urgent says when the last one is posted.
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

/// What makes messages equal: the value of a property.
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
