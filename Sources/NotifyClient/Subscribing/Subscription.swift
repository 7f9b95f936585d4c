extension NotifyClient {
    /// A subscription that stands: messages and gaps, as an asynchronous sequence that one task reads.
    ///
    /// ```swift
    /// try await client.withSubscription(to: "orders.>", as: .durable("billing")) { subscription in
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
    /// It stands through lost connections. A volatile one gets a ``Gap`` then. A durable one goes on where it was, and
    /// yields no message twice: repeats of what was acknowledged are acknowledged again, and what was yielded and not
    /// acknowledged is still the consumer's to acknowledge.
    ///
    /// The sequence ends when the subscription is left, when the client stops, when the limit is reached, and in a task
    /// that is cancelled. In a service that is shut down gracefully it ends after the messages that have arrived; they can
    /// be acknowledged until the subscription is left. It throws where the daemon ends the subscription, for example with `takenOver`, or with
    /// `subscriptionHeld` when another client took a durable one while the connection was away.
    public final class Subscription: AsyncSequence, Sendable {
        /// What a subscription yields.
        public enum Event: Sendable {
            /// A message.
            case message(Message)
            /// Messages that would have stood here, or may have, are missed.
            case gap(Gap)
        }

        let core: ClientCore
        private let number: UInt32
        let buffer: DeliveryBuffer

        init(core: ClientCore, number: UInt32, buffer: DeliveryBuffer) {
            self.core = core
            self.number = number
            self.buffer = buffer
        }

        deinit {
            core.leave(number, nil)
        }

        /// How many messages were dropped from this subscription's buffer because its consumer was slow.
        public var droppedCount: UInt64 { buffer.droppedCount }

        /// Ends a volatile subscription; leaves a durable one, which stays with the daemon. Returns when the daemon has
        /// confirmed that and committed the acknowledgements. What is not acknowledged comes again to whoever attaches next.
        ///
        /// Also works in a task that is cancelled.
        ///
        /// - Throws: ``NotifyError`` with `outcomeUnknown` where the confirmation did not come, because the connection broke
        ///   or within ``Configuration/closingTimeout``: then what was acknowledged last may come again.
        public nonisolated(nonsending) func leave() async throws(NotifyError) {
            let slot = ReplySlot<Void>()
            core.leave(number, slot)
            try await slot.wait()
        }

        /// Begins to read.
        public func makeAsyncIterator() -> Iterator { Iterator(batches: batches.makeAsyncIterator()) }

        /// What arrives in batches, as it arrives: for consumers that do something once for many messages, such as writing
        /// them out before waiting again.
        public var batches: Batches { Batches(subscription: self) }
    }
}

// MARK: - Reading

extension NotifyClient.Subscription {
    /// What arrived together: gaps first, then messages.
    public struct Batch: Sendable {
        /// What was missed before the messages.
        public let gaps: [NotifyClient.Gap]
        /// Messages, in order.
        public let messages: MessageSlice

        init(_ taken: DeliveryBuffer.Taken) {
            gaps = taken.gaps
            messages = MessageSlice(batch: taken.batch, range: taken.range)
        }
    }

    /// Messages that arrived together.
    public struct MessageSlice: Sendable, RandomAccessCollection {
        let batch: MessageBatch?
        let range: Range<Int>

        /// The position of the first message.
        public var startIndex: Int { range.lowerBound }
        /// The position after the last message.
        public var endIndex: Int { range.upperBound }

        /// The message at a position.
        public subscript(position: Int) -> NotifyClient.Message {
            precondition(range.contains(position), "there is no message at \(position)")
            guard let batch else { preconditionFailure("a range without a batch is empty") }
            return NotifyClient.Message(batch: batch, index: position)
        }
    }

    /// The subscription in batches.
    public struct Batches: AsyncSequence, Sendable {
        let subscription: NotifyClient.Subscription

        /// Begins to read.
        public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

        /// Reads the batches.
        public struct Iterator: AsyncIteratorProtocol {
            let subscription: NotifyClient.Subscription

            /// The next batch; `nil` at the end.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> Batch? {
                let taken = try await subscription.buffer.next()
                return taken.isEmpty ? nil : Batch(taken)
            }

            /// The next batch; `nil` at the end.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Batch? {
                try await next(isolation: #isolation)
            }
        }
    }

    /// Reads messages and gaps.
    public struct Iterator: AsyncIteratorProtocol {
        var batches: Batches.Iterator
        private var gaps: ArraySlice<NotifyClient.Gap> = []
        private var messages: Slice<MessageSlice>?

        init(batches: Batches.Iterator) {
            self.batches = batches
        }

        /// The next message or gap; `nil` at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Event? {
            while true {
                if let gap = gaps.popFirst() { return .gap(gap) }
                if let message = messages?.popFirst() { return .message(message) }
                guard let batch = try await batches.next(isolation: actor) else { return nil }
                gaps = batch.gaps[...]
                messages = batch.messages[...]
            }
        }

        /// The next message or gap; `nil` at the end.
        public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Event? {
            try await next(isolation: #isolation)
        }
    }
}
