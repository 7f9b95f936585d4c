import NotifyWire

extension NotificationClient.Administration {
    /// A connected client, as listed by the daemon. All counts begin when the client connects.
    public struct ClientStatus: Hashable, Sendable {
        /// The number of the connection, from 1. No two connections of one run of the daemon have the same number.
        public let id: UInt64
        /// The uid of the process that connected. The kernel reported ``uid``, ``gid`` and ``pid`` at that time.
        public let uid: UInt32
        /// The gid of that process.
        public let gid: UInt32
        /// The pid of that process; 0 if it is not visible to the daemon.
        public let pid: UInt32
        /// The time at which the client connected, in microseconds since 1970-01-01T00:00:00Z.
        public let connectedMicroseconds: UInt64
        /// The number of volatile subscriptions, and of durable subscriptions to which the client is attached.
        public let subscriptionCount: Int
        /// The number of posts that the daemon accepted.
        public let posts: UInt64
        /// The number of requests that the daemon refused, including posts.
        public let refused: UInt64
        /// The number of messages queued for the client, including ``dropped`` messages. Redelivered messages count
        /// again.
        public let delivered: UInt64
        /// The number of messages that the daemon dropped because the client did not read them in time.
        public let dropped: UInt64
        /// The number of messages that the client dropped from its own buffers, according to its reports.
        public let droppedByClient: UInt64
        /// The memory of messages and answers that wait in the daemon until the client reads, in bytes.
        public let waitingBytes: UInt64

        init(_ entry: ClientEntry) {
            id = entry.client
            uid = entry.uid
            gid = entry.gid
            pid = entry.pid
            connectedMicroseconds = entry.connectedMicroseconds
            subscriptionCount = Int(entry.subscriptions)
            posts = entry.posts
            refused = entry.refused
            delivered = entry.delivered
            dropped = entry.dropped
            droppedByClient = entry.droppedByClient
            waitingBytes = entry.waitingBytes
        }
    }

    /// A subscription, or the registration of a server, as listed by the daemon.
    public struct SubscriptionStatus: Hashable, Sendable {
        /// The state of a durable subscription.
        public struct Durable: Hashable, Sendable {
            /// The name, unique per user.
            public let name: String
            /// The sequence up to which every message is acknowledged, or waits for its next delivery.
            public let cursor: UInt64
            /// The number of unacknowledged messages that the subscription may receive; `nil` if the daemon has not
            /// counted them yet. See ``DurableSubscription/pending``.
            public let behind: UInt64?
            /// Whether ``behind`` is only an upper bound, for example because the subscription has an object.
            public let isBehindUpperBound: Bool
            /// The number of messages that the attached client has acknowledged; for a shared subscription, the sum
            /// over all members.
            public let acknowledged: UInt64
            /// The number of messages that were delivered to the attached client and are not answered yet; for a shared
            /// subscription, the sum over all members.
            public let unacknowledged: Int
        }

        /// The state of a server, which answers requests to names that match the patterns.
        public struct Server: Hashable, Sendable {
            /// The number of requests that the server holds at most at the same time.
            public let concurrency: Int
            /// The number of requests that the server holds.
            public let heldRequests: Int
        }

        /// The state of a durable subscription; `nil` for a volatile one and for a server.
        public let durable: Durable?
        /// The state of a server; `nil` for a subscription.
        public let server: Server?
        /// The uid of the owner.
        public let uid: UInt32
        /// The ``ClientStatus/id`` of the client that has subscribed or serves; `nil` if no client is attached to the durable
        /// subscription.
        public let client: UInt64?
        /// The pid of that client.
        public let pid: UInt32?
        /// The patterns of names that the subscription or server matches.
        public let patterns: [String]
        /// The object that the subscription matches; `nil` if it matches messages with any object or
        /// none, and for a server.
        public let object: String?

        init(_ entry: SubscriptionEntry) {
            durable =
                entry.durableName.isEmpty
                ? nil
                : Durable(
                    name: entry.durableName, cursor: entry.cursor, behind: entry.behind,
                    isBehindUpperBound: entry.isBehindUpperBound, acknowledged: entry.acknowledged,
                    unacknowledged: Int(entry.unacknowledged))
            server =
                entry.concurrency == 0
                ? nil : Server(concurrency: Int(entry.concurrency), heldRequests: Int(entry.unacknowledged))
            uid = entry.uid
            client = entry.client == 0 ? nil : entry.client
            pid = entry.client == 0 ? nil : entry.pid
            patterns = entry.patterns
            object = entry.object.isEmpty ? nil : entry.object
        }
    }
}
