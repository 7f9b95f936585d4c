import NotifyWire

extension NotifyClient {
    /// What the daemon promises of a posted message.
    public enum Durability: String, Hashable, Sendable, CaseIterable {
        /// ``stored`` where a durable subscription matches, else ``volatile``. Only in a post, never in a receipt.
        case automatic
        /// Never stored; durable subscriptions do not get it.
        case volatile
        /// Committed to the log: survives the daemon's death.
        case stored
        /// Flushed to disk: survives the loss of power.
        case synced
    }

    /// What became of a post.
    public struct Receipt: Hashable, Sendable {
        /// The message's place in the daemon's order. Rises with every message, and is never used twice.
        public let sequence: UInt64
        /// How many connections with volatile subscriptions that match got it, each once.
        public let subscribers: Int
        /// How many durable subscriptions the message was stored for.
        public let stored: Int
        /// What was reached; never `automatic`.
        public let durability: Durability

        init(_ frame: NotifyWire.Receipt) {
            sequence = frame.sequence
            subscribers = Int(frame.subscribers)
            stored = Int(frame.stored)
            durability = Durability(frame.durability)
        }
    }
}

extension NotifyClient.Durability {
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
    init(_ durability: NotifyClient.Durability) {
        switch durability {
        case .automatic: self = .automatic
        case .volatile: self = .volatile
        case .stored: self = .stored
        case .synced: self = .synced
        }
    }
}
