import NotifyWire

/// Limits and timeouts of the broker. Sizes are in bytes.
package struct BrokerConfiguration: Sendable, Equatable {
    package var maximumPayloadBytes = Limits.defaultPayloadBytes
    /// The maximum number of unanswered posts per connection.
    package var postWindow = 8192
    package var greetingTimeout = Duration.seconds(10)
    /// The time limit for the peer of a closing connection to read the final error.
    package var closingTimeout = Duration.seconds(2)
    /// The maximum delay before acknowledged progress is persisted with a batch.
    package var acknowledgementDelay = Duration.milliseconds(50)
    /// The delay between a failed commit and the next attempt. A request that needs a commit causes an earlier attempt.
    package var storageRetryDelay = Duration.seconds(1)

    /// The window of a member of a durable subscription that requests none: the maximum number of its unacknowledged
    /// messages.
    package var defaultWindow = Limits.defaultWindow

    /// The maximum memory of all users together. 5% is reserved for root. A user other than root may hold at most half
    /// of the memory that all other users leave free.
    package var memoryBytes = 1 << 30

    /// The maximum number of connections of all users together. Each connection needs a file descriptor, so the
    /// process's hard limit of descriptors applies, too.
    package var connections = 32_768
    package var connectionsPerUser = 16_384
    package var subscriptionsPerConnection = 4096
    package var subscriptionsPerUser = 100_000
    package var durableSubscriptionsPerUser = 10_000
    /// The maximum memory of a user's subscriptions in the center. Bounds the time of rebuilding the hash index of a
    /// table, which is one step.
    package var subscriptionBytesPerUser = 64 << 20
    /// The maximum work of resolving one name against a user's patterns: 1 for each visited registration, 16 for each
    /// visited node of the trie.
    package var patternOverlapPerUser = 65_536
    /// The maximum number of distinct names of a user's stored messages. A name counts until all its messages are
    /// deleted. Limited because the log keeps names in memory.
    package var namesPerUser = 1_048_576
    /// The maximum number of unanswered requests to servers of a user, and their maximum size.
    package var requestsPerUser = 1_024
    package var requestBytesPerUser = 16 << 20
    /// The maximum number of a user's values, and of their bytes.
    package var valuesPerUser = 100_000
    package var valueBytesPerUser = 256 << 20
    /// The maximum size of the values of all users together.
    package var valueBytes = Int.max
    /// The maximum size of volatile messages waiting for one connection. Above this, the connection's overflow policy
    /// applies. The default has room for a burst of large messages; `outboxBytesPerUser` bounds what bursts to many
    /// connections take. The policy `keepLatest` applies above 4 MiB, if this limit is higher.
    package var outboxBytesPerConnection = 32 << 20
    /// The maximum size of volatile messages waiting for all of a user's connections together.
    package var outboxBytesPerUser = 64 << 20
    /// The maximum size of answers waiting for one connection. Above this, the connection's requests that need an
    /// answer are not processed.
    package var answerBytesPerConnection = 512 << 10
    /// Durable messages are added to an outbox only while its answers and durable messages take fewer bytes than this.
    package var durableOutboxBytes = 256 << 10
    /// The maximum number of unprocessed bytes received on all of a user's connections. Above this, a connection fails
    /// if its incomplete frame grows.
    package var receivedBytesPerUser = 64 << 20
    /// The maximum size of messages and changes waiting for the store. Above this, reading from a connection that adds
    /// more is paused.
    package var pendingLogBytes = 32 << 20
    /// The maximum size of the tail ring: the newest committed messages, encoded, for log readers near the end of the
    /// log.
    package var tailRingBytes = 16 << 20

    /// The limits of posts and connections per second, and of stored bytes. Above the limit of posts, reading from the
    /// user's posting connections is paused. Above the limit of connections, new connections are refused. Above the
    /// limit of stored bytes, posts to be stored are refused.
    package var userLimits = UserLimitRules()

    /// Whether a message is posted under `notifyd.clients` when a client has been greeted, and when its connection ends.
    package var postsPresence = false

    /// The maximum memory of cached resolutions of names.
    var cacheBytes: Int { memoryBytes / 8 }

    package init() {}
}
