import NotifyWire

/// A message of a durable subscription that has failed, was given back, or has held the cursor for too long. The log
/// has a copy of it for the subscription, and the cursor passes it.
package struct Redelivery: Equatable, Sendable {
    package var sequence: UInt64
    /// The recorded failures. The next delivery is number `failures + 1`.
    package var failures: UInt32
    /// The time until the message is delivered again, in microseconds, counted from the moment at which this value is
    /// written to the log or was read from it. 0 while a client processes the message. The store counts in the log's
    /// time, so that setting the clock has no effect.
    package var delayMicroseconds: UInt64
    /// Whether the message is to become a dead letter, and is not delivered again.
    package var isDead: Bool
    /// The size of the message's deliver frame in bytes, with its header.
    package var bytes: UInt32

    package init(
        sequence: UInt64, failures: UInt32 = 0, delayMicroseconds: UInt64 = 0, isDead: Bool = false, bytes: UInt32
    ) {
        self.sequence = sequence
        self.failures = failures
        self.delayMicroseconds = delayMicroseconds
        self.isDead = isDead
        self.bytes = bytes
    }

    /// The maximum number of messages that are kept for a subscription, and their maximum size in bytes.
    package static let maximumCount = 100_000
    package static let maximumBytes = 256 << 20
    /// The maximum size in bytes while the log, or the owner's share of it, has no room. Not zero, so that a single
    /// message that fails does not stop a subscription whose deliveries would make room.
    package static let bytesWithoutRoom = 1 << 20
}

/// A request for the copies of messages that are kept for a durable subscription.
package struct RedeliveryRequest: Equatable, Sendable {
    package var subscription: DurableID
    /// The sequences of the messages. At most ``maximumMessages``.
    package var sequences: [UInt64]

    package static let maximumMessages = 1_024

    package init(subscription: DurableID, sequences: [UInt64]) {
        self.subscription = subscription
        self.sequences = sequences
    }
}

/// The copies of messages that are kept for a durable subscription.
package struct RedeliveryPage: Sendable {
    package struct Content: Sendable {
        /// The messages in the order of the request, without those that are missing.
        package var block: LogBlock
        /// The reason of the last failure of each message in the block; empty if unknown.
        package var reasons: [String]
        /// The sequences of requested messages without a copy, or with a damaged copy.
        package var missing: [UInt64]

        package init(block: LogBlock, reasons: [String], missing: [UInt64] = []) {
            self.block = block
            self.reasons = reasons
            self.missing = missing
        }
    }

    package var subscription: DurableID
    package var result: Result<Content, StorageFailure>
    package var statistics: StoreStatistics

    package init(subscription: DurableID, result: Result<Content, StorageFailure>, statistics: StoreStatistics) {
        self.subscription = subscription
        self.result = result
        self.statistics = statistics
    }
}
