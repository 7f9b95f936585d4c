extension NotifyClient.Subscription {
    /// The messages of the subscription, without the gaps.
    ///
    /// - Parameter onGap: Called with each gap, in its place between the messages. Runs in the task that reads the
    ///   messages, on the actor of that task. If `onGap` is nil, the client's logger logs gaps as warnings.
    public func messages(onGap: ((NotifyClient.Gap) -> Void)? = nil) -> Messages {
        Messages(batches: batches, onGap: onGap ?? { [core] in core.logWarning($0) })
    }

    /// The messages of the subscription, with their payloads decoded from JSON.
    ///
    /// A payload that cannot be decoded does not end the sequence. Its element throws when
    /// ``NotifyClient/DecodedMessage/value`` is read, and can be answered like any other:
    ///
    /// ```swift
    /// for try await order in subscription.messages(as: Order.self) {
    ///     do {
    ///         try await bill(order.value)
    ///         order.acknowledge()
    ///     } catch let error as NotifyError where error.code == .coding {
    ///         order.fail(reason: error.message)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type to decode, as ``NotifyClient/Message/decode(as:)`` does.
    ///   - onGap: As in ``messages(onGap:)``.
    public func messages<Value: Decodable>(
        as type: Value.Type, onGap: ((NotifyClient.Gap) -> Void)? = nil
    ) -> DecodedMessages<Value> {
        DecodedMessages(messages: messages(onGap: onGap))
    }

    /// The messages of a subscription, without its gaps.
    public struct Messages: AsyncSequence {
        let batches: Batches
        let onGap: (NotifyClient.Gap) -> Void

        /// Makes an iterator. Only one task at a time may read a subscription.
        public func makeAsyncIterator() -> Iterator {
            Iterator(batches: batches.makeAsyncIterator(), onGap: onGap)
        }

        /// Reads the messages.
        public struct Iterator: AsyncIteratorProtocol {
            var batches: Batches.Iterator
            let onGap: (NotifyClient.Gap) -> Void
            private var messages: Slice<MessageSlice>?

            init(batches: Batches.Iterator, onGap: @escaping (NotifyClient.Gap) -> Void) {
                self.batches = batches
                self.onGap = onGap
            }

            /// The next message; `nil` at the end.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> NotifyClient.Message? {
                while true {
                    if let message = messages?.popFirst() { return message }
                    guard let batch = try await batches.next(isolation: actor) else { return nil }
                    batch.gaps.forEach(onGap)
                    messages = batch.messages[...]
                }
            }

            /// The next message; `nil` at the end.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> NotifyClient.Message? {
                try await next(isolation: #isolation)
            }
        }
    }

    /// The messages of a subscription, with their payloads decoded.
    public struct DecodedMessages<Value: Decodable>: AsyncSequence {
        let messages: Messages

        /// Makes an iterator. Only one task at a time may read a subscription.
        public func makeAsyncIterator() -> Iterator {
            Iterator(messages: messages.makeAsyncIterator())
        }

        /// Reads the messages and decodes their payloads.
        public struct Iterator: AsyncIteratorProtocol {
            var messages: Messages.Iterator

            /// The next message; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` if the daemon or a failed client ended the subscription; not if a payload
            ///   cannot be decoded.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> NotifyClient.DecodedMessage<Value>? {
                try await messages.next(isolation: actor).map { NotifyClient.DecodedMessage(decoding: $0) }
            }

            /// The next message; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` if the daemon or a failed client ended the subscription; not if a payload
            ///   cannot be decoded.
            public mutating nonisolated(nonsending) func next()
                async throws(NotifyError) -> NotifyClient.DecodedMessage<Value>?
            {
                try await next(isolation: #isolation)
            }
        }
    }
}
