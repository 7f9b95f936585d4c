import NotifyCenter

extension CompatibleNotificationCenter {
    /// The messages about one subject, which is not kept alive.
    ///
    /// Each iterator returns the messages posted from its creation until it is released or its task is cancelled.
    ///
    /// - Parameters:
    ///   - subject: The subject of the messages.
    ///   - identifier: The identifier of the type of message.
    ///   - limit: The number of messages that may wait in the buffer of an iterator, at least 1. A full buffer drops
    ///     the oldest message.
    public func messages<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject, for identifier: Identifier, bufferSize limit: Int = 10
    ) -> some AsyncSequence<Message, Never> & Sendable
    where Identifier.MessageType == Message, Message.Subject: AnyObject {
        MessageSequence<Message>(self, subject, limit)
    }

    /// The messages with any subject or without one. See ``messages(of:for:bufferSize:)-(Message.Subject,_,_)``.
    public func messages<Identifier: MessageIdentifier, Message: AsyncMessage>(
        of subject: Message.Subject.Type, for identifier: Identifier, bufferSize limit: Int = 10
    ) -> some AsyncSequence<Message, Never> & Sendable where Identifier.MessageType == Message {
        MessageSequence<Message>(self, nil, limit)
    }

    /// The messages of a type about one subject, or if `subject` is nil, with any subject or without one. See
    /// ``messages(of:for:bufferSize:)-(Message.Subject,_,_)``.
    public func messages<Message: AsyncMessage>(
        of subject: Message.Subject? = nil, for messageType: Message.Type, bufferSize limit: Int = 10
    ) -> some AsyncSequence<Message, Never> & Sendable where Message.Subject: AnyObject {
        MessageSequence<Message>(self, subject, limit)
    }
}

/// The messages of a type. Each iterator has an observation of its own.
private struct MessageSequence<Message: CompatibleNotificationCenter.AsyncMessage>: AsyncSequence, Sendable {
    private let center: CompatibleNotificationCenter
    private let hasSubject: Bool
    // Safe: the reference never changes, and the subject is only compared by identity.
    nonisolated(unsafe) private weak let subject: AnyObject?
    private let limit: Int

    init(_ center: CompatibleNotificationCenter, _ subject: AnyObject?, _ limit: Int) {
        self.center = center
        self.subject = subject
        hasSubject = subject != nil
        self.limit = Swift.max(limit, 1)
    }

    func makeAsyncIterator() -> AsyncStream<Message>.Iterator {
        let (stream, continuation) = AsyncStream.makeStream(of: Message.self, bufferingPolicy: .bufferingNewest(limit))
        let subject = subject
        if hasSubject && subject == nil {
            continuation.finish()
        } else {
            let observation = center.observe(Message.name, object: subject) { _, posted in
                continuation.yield(try posted.message(or: { Message.makeMessage($0) }))
            }
            continuation.onTermination = { _ in observation.cancel() }
        }
        return stream.makeAsyncIterator()
    }
}
