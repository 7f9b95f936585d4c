/// Notifications or messages to be read one after another: `for await notification in center.notifications(for: name)`.
///
/// What is posted from the moment on in which the sequence was made waits in it until it is read, within the bounds of its
/// ``Buffering``. It ends when the sequence and its iterators are let go, when the task that reads is cancelled, or with
/// ``cancel()``; what still waits then is not read any more.
///
/// There is one reader. Of several, each would get a part, and all would end with the first that is cancelled. A sequence
/// keeps its center.
public struct NotificationSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// Reading throws nothing.
    public typealias Failure = Never

    private let subscription: SequenceSubscription<Element>

    fileprivate init(_ subscription: SequenceSubscription<Element>) {
        self.subscription = subscription
    }

    /// How many were dropped because too many waited to be read.
    public var droppedCount: Int { subscription.mailbox.droppedCount }

    /// The observation that fills the sequence, by which it can be paused.
    public var observation: Observation { subscription.token.observation }

    /// Ends the sequence, also for who waits in it.
    public func cancel() { subscription.token.cancel() }

    /// Begins to read where the last reader was.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: SequenceReader(subscription)) }

    /// Reads one after another.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: SequenceReader<Element>

        /// The next one, for which it waits, or nil if the sequence has ended.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await reader.subscription.next(isolation: actor)
        }

        /// The next one, for which it waits, or nil if the sequence has ended.
        nonisolated(nonsending) public mutating func next() async -> Element? {
            await reader.subscription.next(isolation: #isolation)
        }
    }
}

/// Somebody who reads a sequence, until the iterator goes.
private final class SequenceReader<Element: Sendable>: Sendable {
    let subscription: SequenceSubscription<Element>

    init(_ subscription: SequenceSubscription<Element>) {
        self.subscription = subscription
    }

    deinit {
        subscription.mailbox.readerLeft()
    }
}

/// An observation by a sequence, which ends with it.
private final class SequenceSubscription<Element: Sendable>: Sendable {
    let mailbox: SequenceMailbox<Element>
    let token: ObservationToken
    private let isOnce: Bool

    init(_ mailbox: SequenceMailbox<Element>, _ token: ObservationToken, isOnce: Bool) {
        self.mailbox = mailbox
        self.token = token
        self.isOnce = isOnce
    }

    func next(isolation: isolated (any Actor)?) async -> Element? {
        await withTaskCancellationHandler {
            let element = await mailbox.next(isolation: isolation)
            if isOnce { token.cancel() }
            return element
        } onCancel: {
            token.cancel()
        }
    }
}

extension LocalCenter {
    /// What is posted under these names from now on, to be read one after another.
    ///
    /// - Parameters:
    ///   - names: A ``NotificationName``, a ``NamePattern``, several patterns, or `.every`.
    ///   - object: If not nil, only posts with an equal object.
    ///   - options: How to observe.
    ///   - buffering: How many may wait to be read, and what happens to the others.
    ///   - fileID: Where this is written, for diagnostics.
    ///   - line: Where this is written, for diagnostics.
    public func notifications(
        for names: some NotificationNames, object: NotificationObject? = nil,
        options: ObservationOptions = ObservationOptions(),
        buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line
    ) -> NotificationSequence<LocalNotification> {
        let mailbox = SequenceMailbox<LocalNotification>(buffering, isOnce: options.isOnce) { $0 }
        var receiver = Receiver.notifications { mailbox.put($0) }
        receiver.queue = mailbox
        let observation = register(
            names.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: receiver)
        return NotificationSequence(
            SequenceSubscription(mailbox, ObservationToken(observation), isOnce: options.isOnce))
    }

    /// What is posted under the names that a pattern, or a name, stands for, to be read one after another.
    ///
    /// - Throws: ``NameError`` if the pattern breaks a rule.
    public func notifications(
        for pattern: String, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line
    ) throws(NameError) -> NotificationSequence<LocalNotification> {
        notifications(
            for: try NamePattern(pattern), object: object, options: options, buffering: buffering, fileID: fileID,
            line: line)
    }

    /// The messages of a type that are posted from now on, to be read one after another. See
    /// ``notifications(for:object:options:buffering:fileID:line:)-(NotificationNames,_,_,_,_,_)``.
    public func messages<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        buffering: Buffering = .dropOldest(), fileID: StaticString = #fileID, line: UInt = #line
    ) -> NotificationSequence<Message> {
        let mailbox = SequenceMailbox<Message>(buffering, isOnce: options.isOnce) { $0.payload as? Message }
        var receiver = Receiver.messages { mailbox.put($0) }
        receiver.queue = mailbox
        let observation = register(
            type.notificationName.observedNames, object: object, options: options,
            place: SourcePlace(fileID: fileID, line: line), receiver: receiver)
        return NotificationSequence(
            SequenceSubscription(mailbox, ObservationToken(observation), isOnce: options.isOnce))
    }
}
