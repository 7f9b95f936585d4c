extension NotificationClient.Subscription {
    /// The messages of the subscription, without the gaps, which the client's logger logs as warnings.
    public func messages() -> Messages { Messages(subscription: self) }

    /// The messages of the subscription, without the gaps.
    ///
    /// - Parameter onGap: Called with each gap, in its place between the messages. Runs in the task that reads the
    ///   messages, on the actor of that task.
    public func messages(onGap: @escaping (NotificationClient.Gap) -> Void) -> Messages.ReportingGaps {
        Messages.ReportingGaps(subscription: self, onGap: onGap)
    }

    /// The messages of the subscription, with their payloads decoded from JSON. The client's logger logs gaps as
    /// warnings.
    ///
    /// A payload that cannot be decoded does not end the sequence. Its element throws when
    /// ``NotificationClient/DecodedMessage/value`` is read, and can be answered like any other:
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
    /// - Parameter type: The type to decode, as ``NotificationClient/Message/decode(as:)`` does.
    public func messages<Value: Decodable>(as type: Value.Type) -> DecodedMessages<Value> {
        DecodedMessages(messages: messages())
    }

    /// The messages of the subscription, with their payloads decoded from JSON, as ``messages(as:)`` yields them.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - onGap: As in ``messages(onGap:)``.
    public func messages<Value: Decodable>(
        as type: Value.Type, onGap: @escaping (NotificationClient.Gap) -> Void
    ) -> DecodedMessages<Value>.ReportingGaps {
        DecodedMessages<Value>.ReportingGaps(messages: messages(onGap: onGap))
    }
}

extension NotificationClient.Subscription {
    /// The messages of a subscription, without its gaps.
    public struct Messages: AsyncSequence, Sendable {
        let subscription: NotificationClient.Subscription

        /// Makes an iterator, which continues where the last one stopped. Only one task at a time may read a
        /// subscription.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: subscription.makeAsyncIterator(), onGap: subscription.logGap)
        }

        /// The messages of a subscription, with a closure that is called with each gap.
        public struct ReportingGaps: AsyncSequence {
            let subscription: NotificationClient.Subscription
            let onGap: (NotificationClient.Gap) -> Void

            /// Makes an iterator, which continues where the last one stopped. Only one task at a time may read a
            /// subscription.
            public func makeAsyncIterator() -> Iterator {
                Iterator(events: subscription.makeAsyncIterator(), onGap: onGap)
            }
        }

        /// Reads the messages.
        public struct Iterator: AsyncIteratorProtocol {
            var events: NotificationClient.Subscription.Iterator
            let onGap: (NotificationClient.Gap) -> Void

            /// The next message; `nil` at the end.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> NotificationClient.Message? {
                while let event = try await events.next(isolation: actor) {
                    switch event {
                    case .message(let message): return message
                    case .gap(let gap): onGap(gap)
                    }
                }
                return nil
            }

            /// The next message; `nil` at the end.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> NotificationClient.Message?
            {
                try await next(isolation: #isolation)
            }
        }
    }

    /// The messages of a subscription, with their payloads decoded.
    public struct DecodedMessages<Value: Decodable>: AsyncSequence, Sendable {
        let messages: Messages

        /// Makes an iterator, which continues where the last one stopped. Only one task at a time may read a
        /// subscription.
        public func makeAsyncIterator() -> Iterator { Iterator(messages: messages.makeAsyncIterator()) }

        /// The messages of a subscription, with their payloads decoded, and a closure that is called with each gap.
        public struct ReportingGaps: AsyncSequence {
            let messages: Messages.ReportingGaps

            /// Makes an iterator, which continues where the last one stopped. Only one task at a time may read a
            /// subscription.
            public func makeAsyncIterator() -> Iterator { Iterator(messages: messages.makeAsyncIterator()) }
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
            ) async throws(NotifyError) -> NotificationClient.DecodedMessage<Value>? {
                try await messages.next(isolation: actor).map { NotificationClient.DecodedMessage(decoding: $0) }
            }

            /// The next message; `nil` at the end.
            ///
            /// - Throws: ``NotifyError`` if the daemon or a failed client ended the subscription; not if a payload
            ///   cannot be decoded.
            public mutating nonisolated(nonsending) func next()
                async throws(NotifyError) -> NotificationClient.DecodedMessage<Value>?
            {
                try await next(isolation: #isolation)
            }
        }
    }
}
