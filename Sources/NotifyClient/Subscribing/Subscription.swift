@_spi(Package) import NotifyCenter

extension NotificationClient {
    /// An open subscription: an asynchronous sequence of messages and gaps, which one task at a time may read.
    ///
    /// ```swift
    /// try await client.withSubscription(to: "orders.*", as: .durable("billing")) { subscription in
    ///     for try await event in subscription {
    ///         switch event {
    ///         case .message(let message):
    ///             print(message.name, message.text ?? "")
    ///             message.acknowledge()
    ///         case .gap(let gap):
    ///             print(gap)
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// A subscription survives lost connections. After a reconnect, a volatile subscription yields a ``Gap`` if
    /// messages were posted while the client was disconnected. A durable subscription continues at its position and
    /// does not yield a message twice. If the daemon repeats a message that was acknowledged, the client acknowledges
    /// it again. Messages yielded earlier can still be acknowledged.
    ///
    /// The sequence ends when the subscription is left, the client stops, the limit is reached, or the reading task is
    /// cancelled. In a service that is shut down gracefully, the sequence ends after the messages that have arrived.
    /// These messages can be acknowledged until the subscription is left. The sequence throws if the daemon ends the
    /// subscription, for example with `subscriptionHeld` if another client attached to the durable subscription while
    /// this client was disconnected.
    ///
    /// The position belongs to the subscription, not to an iterator: after a `break`, or after `first(where:)`, the
    /// next iterator continues with the following message. The same holds for ``batches`` and for ``messages(onGap:)``.
    public final class Subscription: AsyncSequence, Sendable {
        /// An element of the sequence.
        public enum Event: Sendable {
            /// A message.
            case message(Message)
            /// A notice that messages are missing, or may be missing, at this position.
            case gap(Gap)
        }

        let core: ClientCore
        private let number: UInt32
        let buffer: DeliveryBuffer
        let spec: SubscriptionSpec
        /// The answers of a durable subscription; nil for a volatile one.
        let ledger: AcknowledgementLedger?
        private let resumedSequence = Lock<UInt64?>(nil)

        init(
            core: ClientCore, number: UInt32, buffer: DeliveryBuffer, ledger: AcknowledgementLedger?,
            spec: SubscriptionSpec
        ) {
            self.core = core
            self.number = number
            self.buffer = buffer
            self.spec = spec
            self.ledger = ledger
        }

        /// Makes a subscription that has ended and yields nothing: the client's service was shut down before the daemon
        /// was asked for the subscription.
        convenience init(endedOn core: ClientCore, spec: SubscriptionSpec) {
            let buffer = DeliveryBuffer(policy: spec.bufferPolicy, limit: 0)
            self.init(core: core, number: 0, buffer: buffer, ledger: nil, spec: spec)
        }

        deinit {
            core.leave(number, nil)
        }

        /// The number of messages dropped from this subscription's buffer because its consumer was too slow.
        public var droppedCount: UInt64 { buffer.droppedCount }

        /// The cursor of an existing durable subscription when it was opened: the sequence up to which every message
        /// was acknowledged, or waited for its next delivery. The subscription continues after it, and ignores the
        /// start in ``NotifyClient/NotificationClient/SubscriptionKind``. `nil` for a new or volatile subscription.
        public var resumedAfter: UInt64? { resumedSequence.withLock { $0 } }

        func resumed(after sequence: UInt64) {
            resumedSequence.withLock { $0 = sequence }
        }

        /// Ends a volatile subscription, or detaches from a durable subscription. The daemon continues to keep messages
        /// for a durable subscription.
        ///
        /// Returns when the daemon has confirmed the request and committed the acknowledgements. Unacknowledged
        /// messages are delivered again to the next client that attaches. Completes even in a cancelled task.
        ///
        /// - Throws: ``NotifyError`` with `outcomeUnknown` if the connection broke or ``Configuration/closingTimeout``
        ///   passed before the confirmation, or if the connection was lost before the last acknowledgements were sent;
        ///   or the daemon's error if it could not write its log. In each case, the messages acknowledged last may be
        ///   delivered again.
        public nonisolated(nonsending) func leave() async throws(NotifyError) {
            await forgetSettled()
            let slot = ReplySlot<Void>()
            core.leave(number, slot)
            try await slot.wait()
        }

        /// Makes an iterator, which continues where the last one stopped. Only one task at a time may read a
        /// subscription.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

        /// Messages and gaps in batches, as they arrive, for consumers that process many messages at once, for example
        /// with one write.
        public var batches: some AsyncSequence<Batch, NotifyError> & Sendable { Batches(subscription: self) }
    }
}

// MARK: - Reading

extension NotificationClient.Subscription {
    /// Messages that arrived together, in order, and the gaps before them. A batch may consist of gaps alone.
    public struct Batch: Sendable, RandomAccessCollection {
        /// The gaps before the messages.
        public let gaps: [NotificationClient.Gap]
        private let batch: MessageBatch?
        private let range: Range<Int>

        init(_ taken: DeliveryBuffer.Taken) {
            gaps = taken.gaps
            batch = taken.batch
            range = taken.range
        }

        /// The position of the first message.
        public var startIndex: Int { range.lowerBound }
        /// The position after the last message.
        public var endIndex: Int { range.upperBound }

        /// The message at a position.
        public subscript(position: Int) -> NotificationClient.Message {
            precondition(range.contains(position), "there is no message at \(position)")
            guard let batch else { preconditionFailure("a nonempty range has no batch") }
            return NotificationClient.Message(batch: batch, index: position)
        }
    }

    /// The subscription in batches.
    struct Batches: AsyncSequence, Sendable {
        let subscription: NotificationClient.Subscription

        func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

        struct Iterator: AsyncIteratorProtocol {
            let subscription: NotificationClient.Subscription

            mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> Batch? {
                guard try await subscription.readSnapshot() else { return nil }
                let taken = try await subscription.buffer.next()
                return taken.isEmpty ? nil : Batch(taken)
            }

            mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Batch? {
                try await next(isolation: #isolation)
            }
        }
    }

    /// Reads messages and gaps.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: NotificationClient.Subscription

        /// The next message or gap; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Event? {
            while true {
                if let event = try subscription.buffer.popTaken() { return event }
                guard try await subscription.readSnapshot(), try await subscription.buffer.fill() else { return nil }
            }
        }

        /// The next message or gap; `nil` at the end.
        public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Event? {
            try await next(isolation: #isolation)
        }
    }
}
