import NotifyWire

extension NotifyClient {
    /// Where a durable subscription begins when it is made. One that exists goes on at its cursor.
    public enum Start: Hashable, Sendable {
        /// After what has been posted so far.
        case now
        /// With the oldest message kept.
        case oldest
    }

    /// Whether a subscription may miss messages.
    public struct SubscriptionKind: Hashable, Sendable {
        enum Storage: Hashable, Sendable {
            case volatile(messages: Int, bytes: Int)
            case durable(name: String, start: Start, window: Int?)
        }

        let storage: Storage

        /// At most once: what is posted while there is no connection is missed, and what the consumer does not take in time
        /// is dropped from a bounded buffer, the oldest first. Either is told in a ``Gap``.
        ///
        /// - Parameters:
        ///   - bufferedMessages: Messages that wait for the consumer at most; at least 1.
        ///   - bufferedBytes: Their bytes at most. One message is kept whatever its size.
        public static func volatile(
            bufferedMessages: Int = 65_536, bufferedBytes: Int = 32 * 1024 * 1024
        ) -> SubscriptionKind {
            SubscriptionKind(storage: .volatile(messages: max(1, bufferedMessages), bytes: max(1, bufferedBytes)))
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
