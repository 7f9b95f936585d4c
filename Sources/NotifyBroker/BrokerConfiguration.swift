import NotifyWire

/// What the broker allows and how long it waits. Sizes are in bytes.
package struct BrokerConfiguration: Sendable, Equatable {
    package var maximumPayloadBytes = Limits.defaultPayloadBytes
    /// Posts of one connection that may wait for their receipt.
    package var postWindow = 8192
    package var greetingTimeout = Duration.seconds(10)
    /// How long a connection that is being closed may take to read why.
    package var closingTimeout = Duration.seconds(2)
    /// Acknowledgements wait for a batch to join at most this long.
    package var acknowledgementDelay = Duration.milliseconds(50)
    /// After a failed commit without anybody waiting, the next is tried this much later.
    package var storageRetryDelay = Duration.seconds(1)

    /// Durable messages in flight to a subscription that does not ask for another window.
    package var defaultWindow = Limits.defaultWindow

    /// What all users together may hold in memory: at most half of what others leave for each of them.
    package var memoryBytes = 1 << 30

    /// Of all users together. Each takes a descriptor; the process may have as many as its hard limit says.
    package var connections = 32_768
    package var connectionsPerUser = 16_384
    package var subscriptionsPerConnection = 4096
    package var subscriptionsPerUser = 100_000
    package var durableSubscriptionsPerUser = 10_000
    /// What a user's subscriptions may take up in the center. When its tables grow they move at once, which takes about 50 ms
    /// for so much.
    package var subscriptionBytesPerUser = 64 << 20
    /// The work of resolving a name that a user's patterns may cause: registrations walked, and 16 for each token at which one
    /// of the patterns branches off or goes on.
    package var patternOverlapPerUser = 65_536
    /// Different names under which a user's posts were stored in this run: each stays in the log.
    package var namesPerUser = 1_048_576
    /// Volatile messages that wait for one connection, before its overflow policy applies.
    package var outboxBytesPerConnection = 4 << 20
    /// The same for all connections of a user together.
    package var outboxBytesPerUser = 64 << 20
    /// Answers and durable messages that may wait for one connection; over it, nothing more that it sent is processed.
    package var answerBytesPerConnection = 512 << 10
    /// Durable messages are handed to a connection while less than this waits in its outbox.
    package var durableOutboxBytes = 256 << 10
    /// Frames of all of a user's connections that have not arrived whole.
    package var partialBytesPerUser = 64 << 20
    /// Messages that wait for the store; over it, connections that post stored messages are read no further.
    package var pendingLogBytes = 32 << 20
    /// Committed messages kept encoded for durable readers near the tail.
    package var tailRingBytes = 16 << 20

    package init() {}
}
