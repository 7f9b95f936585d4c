public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// A name of recent posts, as listed by the daemon. All counts start at 0 when the daemon begins to count; see
    /// ``names()``.
    public struct NameStatus: Hashable, Sendable {
        /// The name.
        public let name: String
        /// The number of accepted posts.
        public let posts: UInt64
        /// The total size of the posts' payloads, in bytes.
        public let payloadBytes: UInt64
        /// The number of messages that the daemon dropped because connections were too slow. A message counts once for
        /// each connection that did not get it. Excludes messages that ``NotificationClient/Overflow/keepLatest``
        /// replaced by later ones.
        public let dropped: UInt64
        /// The number of connections with volatile subscriptions to which the latest post was sent.
        public let subscribers: Int
        /// The number of durable subscriptions for which the latest post was stored.
        public let durableSubscriptions: Int

        init(_ entry: NameEntry) {
            name = entry.name
            posts = entry.posts
            payloadBytes = entry.payloadBytes
            dropped = entry.dropped
            subscribers = Int(entry.subscribers)
            durableSubscriptions = Int(entry.durables)
        }
    }

    /// A post, with the first bytes of its payload.
    public struct PostSummary: Sendable {
        /// The message's position in the daemon's order; 0 for a refused post.
        public let sequence: UInt64
        /// The time of the post, in microseconds since 1970-01-01T00:00:00Z.
        public let timeMicroseconds: UInt64
        /// The uid of the poster.
        public let uid: UInt32
        /// The gid of the poster.
        public let gid: UInt32
        /// The pid of the poster.
        public let pid: UInt32
        /// The name. Invalid bytes in the name of a refused post are replaced.
        public let name: String
        /// The object; `nil` for none.
        public let object: String?
        /// The headers; empty if a refused post has invalid headers.
        public let headers: NotificationClient.Headers
        /// The first bytes of the payload, at most 1,024.
        public let payloadPrefix: [UInt8]
        /// The size of the whole payload, in bytes.
        public let payloadSize: Int

        init(_ entry: PostEntry) {
            sequence = entry.stamp.sequence
            timeMicroseconds = entry.stamp.timeMicroseconds
            uid = entry.stamp.uid
            gid = entry.stamp.gid
            pid = entry.stamp.pid
            name = String(decoding: entry.name, as: UTF8.self)
            object = entry.object.isEmpty ? nil : String(decoding: entry.object, as: UTF8.self)
            headers = NotificationClient.Headers(entry.headers.withUnsafeBytes { (try? HeaderList.decode($0)) ?? [] })
            payloadPrefix = entry.payload
            payloadSize = Int(entry.payloadBytes)
        }
    }

    /// A post that the daemon recorded for ``monitoredPosts(to:)``.
    public struct MonitoredPost: Sendable {
        /// Whether the daemon accepted or refused a post.
        public enum Outcome: Sendable {
            /// The post was accepted, whether or not the poster requested a receipt. A stored post is reported after
            /// its commit.
            case accepted(NotificationClient.Receipt)
            /// The post was refused. If a rule of the policy forbids it, the error's message names the rule to clients
            /// that may manage everything.
            case refused(NotifyError)
        }

        /// The post.
        public let message: PostSummary
        /// Whether the daemon accepted or refused the post.
        public let outcome: Outcome
        /// The ``ClientStatus/id`` of the poster's client; `nil` for a post of the daemon.
        public let client: UInt64?
        /// Whether this is a request to a server instead of a post. Its receipt has no figures.
        public let isRequest: Bool
        /// The number of posts that were skipped between the previous recorded post and this one.
        public let skipped: UInt64

        init(_ entry: PostEntry) {
            message = PostSummary(entry)
            client = entry.client == 0 ? nil : entry.client
            skipped = entry.skipped
            isRequest = entry.isRequest
            if entry.errorCode == 0 {
                outcome = .accepted(
                    NotificationClient.Receipt(
                        NotifyWire.Receipt(
                            request: 0, sequence: entry.stamp.sequence, subscribers: entry.subscribers,
                            stored: entry.stored, durability: entry.durability)))
            } else {
                outcome = .refused(NotifyError(refusal: entry.errorCode, entry.reason, detail: nil))
            }
        }
    }

    /// A stored message, and its state in each durable subscription that matches it.
    public struct Trace: Sendable {
        /// The state of a message in a durable subscription.
        public enum State: String, Hashable, Sendable, CaseIterable {
            /// The message is still to be delivered, or was delivered only in earlier attachments.
            case pending
            /// The message was delivered to an attached client and is not answered.
            case inFlight
            /// The message was acknowledged, is stored as a dead letter (see
            /// ``NotificationClient/Administration/deadLetters(of:from:limit:follows:order:uid:onGap:)``), or was
            /// skipped because the policy did not let the owner receive it at that time.
            case acknowledged
            /// The message was posted before the subscription began.
            case beforeStart
            /// The message is still to be delivered, but the policy does not let the owner receive it.
            case forbidden
            /// The message failed or was given back, and waits for its next delivery.
            case waiting
            /// The message has failed too often, and its dead letter is not stored yet.
            case deadLetter
        }

        /// A durable subscription that matches the message.
        public struct Subscription: Hashable, Sendable {
            /// The name, unique per user.
            public let name: String
            /// The uid of the owner.
            public let uid: UInt32
            /// The state of the message.
            public let state: State
            /// Whether a client may have seen the message in an earlier attachment.
            public let mayHaveBeenSeen: Bool
            /// The ``ClientStatus/id`` of the attached client; `nil` if none is attached.
            public let client: UInt64?
            /// The pid of the attached client; `nil` if none is attached.
            public let pid: UInt32?
            /// The number of deliveries of the message that failed and were recorded.
            public let failures: Int
            /// The time of the message's next delivery; `nil` if no time is set for it.
            public let nextDelivery: Date?
            /// The reason why the last delivery failed; `nil` if none failed, or if the reason is unknown.
            public let failureReason: String?

            init(_ entry: TraceEntry) {
                name = entry.durableName
                uid = entry.uid
                state =
                    switch entry.state {
                    case .pending: .pending
                    case .inFlight: .inFlight
                    case .acknowledged: .acknowledged
                    case .beforeStart: .beforeStart
                    case .forbidden: .forbidden
                    case .waiting: .waiting
                    case .deadLetter: .deadLetter
                    }
                mayHaveBeenSeen = entry.mayHaveBeenSeen
                client = entry.client == 0 ? nil : entry.client
                pid = entry.client == 0 ? nil : entry.pid
                failures = Int(entry.failures)
                nextDelivery = Date(sinceEpoch: entry.nextMicroseconds)
                failureReason = entry.reason.isEmpty ? nil : entry.reason
            }
        }

        /// The message.
        public let message: PostSummary
        /// The existing durable subscriptions that match the message, of this user or, if this user may manage
        /// everything, of all users.
        public let subscriptions: [Subscription]
    }
}
