public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// A durable subscription, as listed by the daemon.
    public struct DurableSubscription: Hashable, Sendable {
        /// A number of messages that is exact or an upper bound.
        public struct Count: Hashable, Sendable {
            /// The exact number of messages, or the upper bound.
            public let messages: UInt64
            /// Whether ``messages`` is only an upper bound, for example because the subscription has an object.
            public let isUpperBound: Bool
        }

        /// The stored messages that a subscription has not acknowledged.
        public struct Pending: Hashable, Sendable {
            /// The number of messages.
            public let count: Count
            /// The bytes that the messages take in the daemon's log.
            public let bytes: UInt64
            /// The time of the oldest message's post, at most a minute too early; `nil` if there is no message.
            public let oldest: Date?
        }

        /// The name, unique per user.
        public let name: String
        /// The uid of the owner.
        public let uid: UInt32
        /// The patterns of names that the subscription matches.
        public let patterns: [String]
        /// The object that the subscription matches; `nil` if it matches messages with any object or none.
        public let object: String?
        /// Whether several clients share its messages.
        public let sharing: NotificationClient.DurableSharing
        /// The sequence up to which every message is acknowledged, or waits for its next delivery.
        public let cursor: UInt64
        /// The pid of the attached client, or of the first member of a group; `nil` if none is attached.
        public let holderPID: UInt32?
        /// The number of attached clients.
        public let members: Int
        /// The number of messages that were delivered to the attached clients and not answered.
        public let inFlight: UInt32
        /// The number of messages that failed or were given back, and wait for their next delivery.
        public let waiting: Int
        /// The messages that are not acknowledged, delivered or not; `nil` if the daemon has not counted them yet.
        public let pending: Pending?
        /// The number of messages that were deleted before they were acknowledged. The number returns to 0 once a later
        /// message is acknowledged.
        ///
        /// Messages that were deleted before the creation of the subscription count in two cases. If it was created to
        /// begin at a sequence, they count from that sequence on. If it was created to begin at an age or a time, they
        /// count from the first message of that time or later that was still stored at the creation.
        public let lost: Count

        init(_ entry: DurableEntry) {
            name = entry.durableName
            uid = entry.uid
            patterns = entry.patterns
            object = entry.object.isEmpty ? nil : entry.object
            sharing = NotificationClient.DurableSharing(entry.sharing)
            members = Int(entry.members)
            waiting = Int(entry.waiting)
            cursor = entry.cursor
            holderPID = entry.pid == 0 ? nil : entry.pid
            inFlight = entry.inFlight
            lost = Count(messages: entry.lost, isUpperBound: entry.isLostUpperBound)
            pending = entry.pending.map { pending in
                Pending(
                    count: Count(messages: pending.messages, isUpperBound: pending.isUpperBound), bytes: pending.bytes,
                    oldest: pending.oldestMicroseconds == 0
                        ? nil : Date(timeIntervalSince1970: Double(pending.oldestMicroseconds) / 1_000_000))
            }
        }
    }
}
