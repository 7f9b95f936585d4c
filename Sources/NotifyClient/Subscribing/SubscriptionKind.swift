import NotifyWire

extension NotificationClient {
    /// The policy of a volatile subscription when its buffer is full.
    public enum FullBufferPolicy: Hashable, Sendable, CaseIterable {
        /// Drops the oldest messages in the buffer. A ``Gap`` takes their place. ``Subscription/droppedCount`` and the
        /// daemon's counter `dropped_by_clients` count the dropped messages.
        case dropOldest
        /// Stops reading from the connection until the consumer has emptied half of the buffer. Messages that were
        /// already read, at most one megabyte or one message, are kept although the buffer is full.
        ///
        /// The daemon then buffers further messages for this connection up to its own limit. Beyond that limit, the
        /// daemon follows ``Configuration/overflow``.
        ///
        /// Everything that arrives over the connection waits, including messages of other subscriptions, receipts and
        /// answers. So a consumer must not wait for a receipt of the same client between two messages: use a second
        /// client, or post with ``NotifyClient/NotificationClient/send(_:timeout:)``. Posts are still sent. Leaving a
        /// subscription or stopping the client resumes reading, so that the daemon's confirmation arrives.
        case pauseReading
    }

    /// The kind of a subscription: volatile (at most once) or durable (at least once).
    public struct SubscriptionKind: Hashable, Sendable {
        enum Storage: Hashable, Sendable {
            case volatile(start: Start, messages: Int, bytes: Int, FullBufferPolicy)
            case durable(Durable)
        }

        struct Durable: Hashable, Sendable {
            var name: String
            var start: Start
            var window: Int?
            var sharing: DurableSharing
            var settings: DurableSettings
            var takesOver: Bool
            /// Whether the client extends the deadlines of all messages that are not answered.
            var extendsDeadlines = false
        }

        var storage: Storage

        /// At most once: messages posted while there is no connection are missed, and messages that the consumer does
        /// not take in time may be dropped, depending on `whenFull`. A ``Gap`` reports both.
        ///
        /// With a start other than `now`, a snapshot comes first: the stored messages from the start on, in pages that
        /// are requested as the consumer takes them. Live messages follow, and no stored message is missed or repeated
        /// in between. Live messages that arrive during the snapshot wait in the buffer. If they exceed its bounds, the
        /// stored ones are read from the log later, and only messages that are not stored are missed. A lost connection
        /// does not repeat the snapshot.
        ///
        /// - Parameters:
        ///   - start: The position in the log at which the snapshot begins; no snapshot for ``Start/now``.
        ///   - bufferedMessages: The maximum number of messages that wait for the consumer; at least 1.
        ///   - bufferedBytes: The maximum size of these messages in bytes. One message is kept regardless of its size.
        ///   - whenFull: The policy when the buffer is full.
        public static func volatile(
            from start: Start = .now, bufferedMessages: Int = 65_536, bufferedBytes: Int = 32 * 1024 * 1024,
            whenFull: FullBufferPolicy = .dropOldest
        ) -> SubscriptionKind {
            SubscriptionKind(
                storage: .volatile(
                    start: start, messages: max(1, bufferedMessages), bytes: max(1, bufferedBytes), whenFull))
        }

        /// At least once: the daemon keeps matching messages until they are acknowledged, even while no client is
        /// attached.
        ///
        /// - Parameters:
        ///   - name: 1 to 64 letters, digits, `.`, `_` or `-`; unique per user.
        ///   - start: The position at which the subscription begins if it does not exist yet.
        ///   - window: The maximum number of messages delivered to this client and not answered, 1 to 16,384; 256 if
        ///     `nil`. These messages are held in memory, so choose fewer for large payloads.
        ///   - sharing: Whether several clients share the messages. If the subscription exists with another sharing,
        ///     the daemon refuses the request with `subscriptionHeld` or `subscriptionMismatch`.
        ///   - settings: The settings of the subscription if it does not exist yet. An existing subscription keeps its
        ///     settings; ``NotificationClient/Administration/configureDurableSubscription(_:_:uid:)`` changes them.
        ///   - takesOver: Whether to attach even if the subscription is exclusive and held by another client, or has
        ///     another sharing. The attachments of the other clients then end, but members of the same group stay
        ///     attached. Applies only to the first attachment, not after a lost connection.
        public static func durable(
            _ name: String, from start: Start = .now, window: Int? = nil, sharing: DurableSharing = .exclusive,
            settings: DurableSettings = DurableSettings(), takesOver: Bool = false
        ) -> SubscriptionKind {
            SubscriptionKind(
                storage: .durable(
                    Durable(
                        name: name, start: start, window: window, sharing: sharing, settings: settings,
                        takesOver: takesOver)))
        }
    }
}
