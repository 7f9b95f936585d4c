/// An asynchronous sequence of notifications or messages: `for await notification in center.notifications(for: name)`.
///
/// Posts are buffered from the creation of the sequence until they are read, according to its ``Buffering``. The
/// sequence ends when it and its iterators are released, when the task of its only reader is cancelled, or with
/// ``cancel()``. With `.once`, it ends after one element. The end drops buffered elements. A sequence keeps its center
/// alive.
///
/// Each iterator is a reader with its own buffer, and gets all elements posted after its creation. The first iterator
/// also gets the elements posted since the creation of the sequence. An iterator created after all others have been
/// released continues where the last one stopped. Cancelling the task of one of several readers ends only that reader.
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

    /// The number of elements dropped because a reader's buffer was full, summed over all readers.
    public var droppedCount: Int { subscription.readers.droppedCount }

    /// The observation of the sequence, for example to pause it.
    public var observation: ObservationHandle { subscription.token.observation }

    /// Ends the sequence for all readers, including those that are waiting.
    public func cancel() { subscription.token.cancel() }

    /// Creates a reader.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: SequenceReader(subscription)) }

    /// A reader of the sequence, which ends when it is released.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: SequenceReader<Element>

        var mailbox: SequenceMailbox<Element> { reader.mailbox }

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

/// A reader of a sequence. Its iterator holds the only reference.
private final class SequenceReader<Element: Sendable>: Sendable {
    private let subscription: SequenceSubscription<Element>
    let mailbox: SequenceMailbox<Element>

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

    /// Ends this reader. If no other reader is left, ends the sequence as well.
    private func end() {
        if subscription.readers.remove(mailbox) { subscription.token.cancel() }
    }
}

/// The readers and the observation of a sequence. Releasing this object ends the observation.
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
