/// Notifications or messages to be read one after another: `for await notification in center.notifications(for: name)`.
///
/// What is posted after the sequence was made is buffered until it is read, within the bounds of its ``Buffering``. A sequence
/// ends when it and its iterators are released, when the task of its only reader is cancelled, or with ``cancel()``; what is
/// still buffered then is not read any more. A sequence keeps its center alive.
///
/// Each iterator is a reader, and each reader has a buffer of its own and gets everything from the moment on in which it was
/// made. The first one also gets what was posted since the sequence was made, and one that begins after all others have
/// stopped continues where the last one stopped. Cancelling the task of one of several readers ends only what that one reads.
///
/// ```swift
/// let orders = center.messages(of: OrderPaid.self)
/// let (audit, stock) = (orders.makeAsyncIterator(), orders.makeAsyncIterator())  // each gets every order from here on
/// ```
public struct NotificationSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// Reading does not throw.
    public typealias Failure = Never

    private let subscription: SequenceSubscription<Element>

    init(_ subscription: SequenceSubscription<Element>) {
        self.subscription = subscription
    }

    /// The number of elements dropped because buffers were full, of all readers together.
    public var droppedCount: Int { subscription.readers.droppedCount }

    /// The observation of the sequence, for example to pause it.
    public var observation: Observation { subscription.token.observation }

    /// Ends the sequence for all readers, including those that are waiting.
    public func cancel() { subscription.token.cancel() }

    /// Adds a reader.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: SequenceReader(subscription)) }

    /// A reader of the sequence, until it is released.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: SequenceReader<Element>

        /// Waits for the next element. Returns nil if the sequence has ended, or this reader's task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await reader.next(isolation: actor)
        }

        /// Waits for the next element. Returns nil if the sequence has ended, or this reader's task was cancelled.
        nonisolated(nonsending) public mutating func next() async -> Element? {
            await reader.next(isolation: #isolation)
        }
    }
}

/// A reader of a sequence. It stops when its iterator is released.
private final class SequenceReader<Element: Sendable>: Sendable {
    private let subscription: SequenceSubscription<Element>
    private let mailbox: SequenceMailbox<Element>

    init(_ subscription: SequenceSubscription<Element>) {
        self.subscription = subscription
        mailbox = subscription.readers.add()
    }

    deinit {
        subscription.readers.readerStopped(mailbox)
    }

    func next(isolation: isolated (any Actor)?) async -> Element? {
        await withTaskCancellationHandler {
            let element = await mailbox.next(isolation: isolation)
            if subscription.isOnce { end() }
            return element
        } onCancel: {
            end()
        }
    }

    /// Ends this reader, and the sequence with its last reader.
    private func end() {
        if subscription.readers.remove(mailbox) { subscription.token.cancel() }
    }
}

/// The observation of a sequence, which ends with the sequence.
final class SequenceSubscription<Element: Sendable>: Sendable {
    let readers: SequenceReaders<Element>
    let token: ObservationToken
    let isOnce: Bool

    init(_ readers: SequenceReaders<Element>, _ token: ObservationToken, isOnce: Bool) {
        self.readers = readers
        self.token = token
        self.isOnce = isOnce
    }
}
