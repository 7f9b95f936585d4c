import NotifyWire

extension NotifyClient {
    /// Where a durable subscription begins when it is made. One that exists goes on at its cursor.
    public enum Start: Hashable, Sendable {
        /// After what has been posted so far.
        case now
        /// With the oldest message kept.
        case oldest
    }

    /// What a volatile subscription does when its buffer is full.
    public enum FullBufferPolicy: Hashable, Sendable, CaseIterable {
        /// Drops the oldest messages in the buffer. A ``Gap`` takes their place, ``Subscription/droppedCount`` counts them, and
        /// the daemon counts them in its statistic `dropped_by_clients`.
        case dropOldest
        /// Stops reading from the connection until the consumer has emptied half of the buffer. Messages that the client had
        /// read before, at most one megabyte or one message, are kept in addition.
        ///
        /// The daemon then keeps further messages for this connection, up to its own limit, beyond which it follows
        /// ``Configuration/overflow``.
        ///
        /// All that arrives over the connection waits: the other subscriptions of this client, receipts and answers. So a
        /// consumer must not wait for a receipt of the same client between two messages: use a second client, or post with
        /// ``NotifyClient/NotifyClient/send(_:)``. Posts go out as before. Leaving a subscription and stopping the client
        /// read on, so that the daemon's confirmation arrives.
        case holdBack
    }

    /// Whether a subscription may miss messages.
    public struct SubscriptionKind: Hashable, Sendable {
        enum Storage: Hashable, Sendable {
            case volatile(messages: Int, bytes: Int, FullBufferPolicy)
            case durable(name: String, start: Start, window: Int?)
        }

        let storage: Storage

        /// At most once: messages posted while there is no connection are missed, and so are those that the consumer does not
        /// take in time, depending on `whenFull`. A ``Gap`` reports either.
        ///
        /// - Parameters:
        ///   - bufferedMessages: Messages that wait for the consumer at most; at least 1.
        ///   - bufferedBytes: Their bytes at most. One message is kept whatever its size.
        ///   - whenFull: What happens when the consumer is slower than messages arrive.
        public static func volatile(
            bufferedMessages: Int = 65_536, bufferedBytes: Int = 32 * 1024 * 1024,
            whenFull: FullBufferPolicy = .dropOldest
        ) -> SubscriptionKind {
            SubscriptionKind(
                storage: .volatile(messages: max(1, bufferedMessages), bytes: max(1, bufferedBytes), whenFull))
        }

        /// At least once: the daemon keeps matching messages until they are acknowledged, also while nobody is attached.
        ///
        /// - Parameters:
        ///   - name: 1 to 64 of letters, digits, `.`, `_` and `-`; unique per user.
        ///   - start: Where it begins when it is made.
        ///   - window: Messages that may be delivered and not acknowledged, 1 to 16,384; 256 if `nil`. They are held in
        ///     memory, so choose fewer where payloads are large.
        public static func durable(_ name: String, from start: Start = .now, window: Int? = nil) -> SubscriptionKind {
            SubscriptionKind(storage: .durable(name: name, start: start, window: window))
        }
    }
}
