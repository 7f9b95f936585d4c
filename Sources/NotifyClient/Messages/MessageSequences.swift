extension NotificationClient.Subscription {
    /// The messages of the subscription, without the gaps. The client's logger logs gaps as warnings.
    public func messages() -> Messages { Messages(subscription: self) }

    /// The messages of the subscription, without the gaps.
    ///
    /// - Parameter onGap: Called with each gap, in its place between the messages. Runs in the task that reads the
    ///   messages, on the actor of that task.
    public func messages(
        onGap: @escaping (NotificationClient.Gap) -> Void
    ) -> some AsyncSequence<NotificationClient.Message, NotifyError> {
        reportingMessages(onGap)
    }

    private func reportingMessages(_ onGap: @escaping (NotificationClient.Gap) -> Void) -> Messages.ReportingGaps {
        Messages.ReportingGaps(subscription: self, onGap: onGap)
    }

    /// The messages of the subscription, with their payloads decoded from JSON. The client's logger logs gaps as
    /// warnings.
    ///
    /// A payload that cannot be decoded does not end the sequence. The element with this payload throws when
    /// ``NotificationClient/DecodedMessage/value`` is read, and can be answered like any other element:
    ///
    /// ```swift
    /// for try await order in subscription.messages(as: Order.self) {
    ///     do {
    ///         try await bill(order.value)
    ///         order.acknowledge()
    ///     } catch let error as NotifyError where error.code == .coding {
    ///         order.deadLetter(reason: error.message)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter type: The type to decode, as ``NotificationClient/Message/decode(as:)`` does.
    /// - Returns: A sequence that throws ``NotifyError`` if the daemon ended the subscription, or if this client
    ///   failed.
    public func messages<Value: Decodable>(as type: Value.Type)
        -> some AsyncSequence<NotificationClient.DecodedMessage<Value>, NotifyError> & Sendable
    {
        DecodedMessages<Value>(messages: messages())
    }

    /// The messages of the subscription, with their payloads decoded from JSON, as ``messages(as:)`` yields them.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - onGap: As in ``messages(onGap:)``.
    public func messages<Value: Decodable>(
        as type: Value.Type, onGap: @escaping (NotificationClient.Gap) -> Void
    ) -> some AsyncSequence<NotificationClient.DecodedMessage<Value>, NotifyError> {
        DecodedMessages<Value>.ReportingGaps(messages: reportingMessages(onGap))
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
        struct ReportingGaps: AsyncSequence {
            let subscription: NotificationClient.Subscription
            let onGap: (NotificationClient.Gap) -> Void

            func makeAsyncIterator() -> Iterator {
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
    struct DecodedMessages<Value: Decodable>: AsyncSequence, Sendable {
        let messages: Messages

        func makeAsyncIterator() -> Iterator { Iterator(messages: messages.makeAsyncIterator()) }

        /// The messages of a subscription, with their payloads decoded, and a closure that is called with each gap.
        struct ReportingGaps: AsyncSequence {
            let messages: Messages.ReportingGaps

            func makeAsyncIterator() -> Iterator { Iterator(messages: messages.makeAsyncIterator()) }
        }

        /// Reads the messages and decodes their payloads.
        struct Iterator: AsyncIteratorProtocol {
            var messages: Messages.Iterator

            mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> NotificationClient.DecodedMessage<Value>? {
                try await messages.next(isolation: actor).map { NotificationClient.DecodedMessage(decoding: $0) }
            }

            mutating nonisolated(nonsending) func next()
                async throws(NotifyError) -> NotificationClient.DecodedMessage<Value>?
            {
                try await next(isolation: #isolation)
            }
        }
    }
}
