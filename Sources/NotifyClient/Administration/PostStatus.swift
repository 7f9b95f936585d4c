public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// A name of recent posts, as listed by the daemon. All counts start at 0 when the daemon begins to count; see
    /// ``names()``.
    public struct NameStatus: Hashable, Sendable {
        /// The name.
        public let name: String
        /// Accepted posts.
        public let posts: UInt64
        /// Bytes of the posts' payloads.
        public let payloadBytes: UInt64
        /// Messages that the daemon dropped because connections were too slow; a message counts for each connection
        /// that it was dropped for. Excludes messages that ``NotificationClient/Overflow/keepLatest`` replaced by later
        /// ones.
        public let dropped: UInt64
        /// The number of connections with volatile subscriptions that the latest post was sent to.
        public let subscribers: Int
        /// The number of durable subscriptions that the latest post was stored for.
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
        /// The headers; empty if those of a refused post are invalid.
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
            /// Accepted, whether or not the poster asked for a receipt. A stored post is reported after its commit.
            case accepted(NotificationClient.Receipt)
            /// Refused. If a rule of the policy forbids the post, the error's message contains the rule for clients
            /// that may manage everything.
            case refused(NotifyError)
        }

        /// The post.
        public let message: PostSummary
        /// Whether the daemon accepted or refused the post.
        public let outcome: Outcome
        /// The ``ClientStatus/id`` of the poster's client; `nil` for a post of the daemon.
        public let client: UInt64?
        /// The number of posts that were skipped between the previous recorded post and this one.
        public let skipped: UInt64

        init(_ entry: PostEntry) {
            message = PostSummary(entry)
            client = entry.client == 0 ? nil : entry.client
            skipped = entry.skipped
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
            /// Still to be delivered, or delivered only in earlier attachments.
            case pending
            /// Delivered to the attached client and not acknowledged.
            case inFlight
            /// Acknowledged, stored as a dead letter (see
            /// ``NotificationClient/Administration/deadLetters(of:from:limit:follows:order:uid:onGap:)``), or skipped
            /// because the policy did not let the owner receive the name.
            case acknowledged
            /// The message was posted before the subscription began.
            case beforeStart
            /// The policy does not let the owner receive the name.
            case forbidden
            /// The delivery failed, or the message was given back: waits for its next delivery.
            case waiting
            /// The message was given up, and its dead letter is not stored yet.
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
            /// When the message is delivered again; `nil` if it does not wait for a time.
            public let nextDelivery: Date?
            /// Why its last delivery failed; `nil` if none did, or if unknown.
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
        /// The durable subscriptions that exist now and match the message: those of this user or, if this user may
        /// manage everything, of all users.
        public let subscriptions: [Subscription]
    }
}
