import NotifyWire

extension NotificationClient {
    /// The durability of a posted message.
    public enum Durability: String, Hashable, Sendable, CaseIterable {
        /// ``stored`` if a durable subscription matches, otherwise ``volatile``. Used only in posts, not in receipts.
        case automatic
        /// Never stored, and not delivered to durable subscriptions.
        case volatile
        /// Committed to the log, so that the message survives a crash of the daemon.
        case stored
        /// Flushed to disk, so that the message survives a loss of power.
        case synced
    }

    /// The daemon's confirmation of a post.
    public struct Receipt: Hashable, Sendable {
        /// The message's position in the daemon's order. Rises with every message and is never reused.
        public let sequence: UInt64
        /// The number of connections with matching volatile subscriptions. The message is sent once to each of them.
        public let subscribers: Int
        /// The number of durable subscriptions for which the message was stored.
        public let stored: Int
        /// The durability that was reached; never `automatic`.
        public let durability: Durability

        /// Makes a receipt, for example in a test.
        public init(sequence: UInt64, subscribers: Int = 0, stored: Int = 0, durability: Durability = .volatile) {
            self.sequence = sequence
            self.subscribers = subscribers
            self.stored = stored
            self.durability = durability
        }

        init(_ frame: NotifyWire.Receipt) {
            sequence = frame.sequence
            subscribers = Int(frame.subscribers)
            stored = Int(frame.stored)
            durability = Durability(frame.durability)
        }
    }
}

extension NotificationClient.Durability {
    init(_ durability: NotifyWire.Durability) {
        switch durability {
        case .automatic: self = .automatic
        case .volatile: self = .volatile
        case .stored: self = .stored
        case .synced: self = .synced
        }
    }
}

extension NotifyWire.Durability {
    init(_ durability: NotificationClient.Durability) {
        switch durability {
        case .automatic: self = .automatic
        case .volatile: self = .volatile
        case .stored: self = .stored
        case .synced: self = .synced
        }
    }
}
