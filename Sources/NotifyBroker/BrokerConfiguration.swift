import NotifyWire

/// Limits and timeouts of the broker. Sizes are in bytes.
package struct BrokerConfiguration: Sendable, Equatable {
    package var maximumPayloadBytes = Limits.defaultPayloadBytes
    /// The most posts of one connection that may wait for a receipt.
    package var postWindow = 8192
    package var greetingTimeout = Duration.seconds(10)
    /// How long a connection that is being closed may take to read the final error.
    package var closingTimeout = Duration.seconds(2)
    /// The longest time that acknowledged progress waits to be persisted with a batch.
    package var acknowledgementDelay = Duration.milliseconds(50)
    /// The delay after which a failed commit is retried, if no request causes one earlier.
    package var storageRetryDelay = Duration.seconds(1)

    /// The window of durable subscriptions that do not request one: the most unacknowledged messages.
    package var defaultWindow = Limits.defaultWindow

    /// The memory of all users together. Each user may hold at most half of what the others leave.
    package var memoryBytes = 1 << 30

    /// Connections of all users together. Each needs a file descriptor, so the process's hard limit of descriptors
    /// applies, too.
    package var connections = 32_768
    package var connectionsPerUser = 16_384
    package var subscriptionsPerConnection = 4096
    package var subscriptionsPerUser = 100_000
    package var durableSubscriptionsPerUser = 10_000
    /// The memory of a user's subscriptions in the center. A table that grows is copied at once, which at this size
    /// takes about 50 ms.
    package var subscriptionBytesPerUser = 64 << 20
    /// The most work that resolving one name against a user's patterns may take: 1 for each registration visited, 16
    /// for each node of the trie.
    package var patternOverlapPerUser = 65_536
    /// Distinct names under which a user's posts were stored since the daemon started. Names stay in the log.
    package var namesPerUser = 1_048_576
    /// Volatile messages waiting for one connection, before its overflow policy applies.
    package var outboxBytesPerConnection = 4 << 20
    /// The same for all of a user's connections together.
    package var outboxBytesPerUser = 64 << 20
    /// Answers and durable messages waiting for one connection. Above this, its requests are not processed.
    package var answerBytesPerConnection = 512 << 10
    /// Durable messages are added to a connection's outbox only while less than this waits there.
    package var durableOutboxBytes = 256 << 10
    /// Unprocessed bytes received on all of a user's connections. Checked when an incomplete frame grows.
    package var receivedBytesPerUser = 64 << 20
    /// Messages waiting for the store. Above this, connections that post stored messages are not read from.
    package var pendingLogBytes = 32 << 20
    /// Committed messages kept in memory, encoded, for log readers near the tail.
    package var tailRingBytes = 16 << 20

    package init() {}
}
