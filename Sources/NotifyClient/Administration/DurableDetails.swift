public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// The settings and the state of a durable subscription, as described by the daemon.
    public struct DurableDetails: Hashable, Sendable {
        /// The attachment of a client.
        public struct Attachment: Hashable, Sendable {
            /// The time at which the client attached.
            public let date: Date
            /// The pid of the client. The process may have ended since.
            public let pid: UInt32
        }

        /// A delivery that failed.
        public struct Failure: Hashable, Sendable {
            /// The sequence of the message.
            public let sequence: UInt64
            /// The time at which the delivery failed; `nil` if that was before the daemon's start.
            public let date: Date?
            /// The number of the message's deliveries that had failed by then.
            public let failures: Int
            /// The reason that the client gave for the failure; `nil` if it gave none, or if it is not certain that this
            /// user may receive every message of the subscription. ``trace(_:)`` has the reason for a message that this
            /// user may receive.
            public let reason: String?
        }

        /// The subscription as in the list of ``durableSubscriptions()``.
        public let subscription: DurableSubscription
        /// The settings of redeliveries. All of them have a value.
        public let settings: NotificationClient.DurableSettings
        /// The time of the subscription's creation; `nil` if an earlier version of the daemon created it.
        public let created: Date?
        /// The last attachment that requested messages, present or past; `nil` if there was none. If ``created`` is
        /// `nil`, attachments to an earlier version of the daemon are unknown.
        public let lastAttachment: Attachment?
        /// The time without a client after which the daemon removes the subscription; `nil` if it does not.
        public let expiry: Duration?
        /// The time for which no client has been attached, zero while one is attached; `nil` if the daemon has not
        /// determined it yet.
        public let unused: Duration?
        /// The number of withheld messages: no attached client may receive them, but a client that attached earlier
        /// may. ``DurableSubscription/waiting`` includes them. While no client is attached, every message waits. The
        /// number is then that of the messages that at least one of the earlier clients may not receive.
        public let withheld: Int
        /// Whether the subscription existed before a request to create it. False after other requests.
        public let existed: Bool
        /// Whether messages that failed too often can't become dead letters, because the dead letters of the
        /// subscription's owner use up the owner's share. The messages wait until dead letters are retried or deleted,
        /// or the limit is raised.
        public let needsRoomForDeadLetters: Bool
        /// The last failed delivery; `nil` if none is known. After a restart of the daemon, it is the failure of one of
        /// the messages that wait for another delivery, not necessarily the last failure.
        public let lastFailure: Failure?
        /// The earliest time that is set for a redelivery; `nil` if none is set.
        public let nextDelivery: Date?

        init(_ description: DurableDescription) {
            subscription = DurableSubscription(description.entry)
            settings = NotificationClient.DurableSettings(description.settings)
            created = Date(sinceEpoch: description.createdMicroseconds)
            lastAttachment = Date(sinceEpoch: description.attachedMicroseconds).map { date in
                Attachment(date: date, pid: description.attachedPID)
            }
            expiry = description.expiryMicroseconds == 0 ? nil : .microseconds(description.expiryMicroseconds)
            existed = description.existed
            needsRoomForDeadLetters = description.needsRoom
            withheld = Int(description.withheld)
            unused = description.unusedMicroseconds.map { .microseconds($0) }
            lastFailure = description.lastFailure.map { failure in
                Failure(
                    sequence: failure.sequence, date: Date(sinceEpoch: failure.microseconds),
                    failures: Int(failure.failures), reason: failure.reason.isEmpty ? nil : failure.reason)
            }
            nextDelivery = Date(sinceEpoch: description.nextMicroseconds)
        }
    }
}

extension Date {
    /// The date of a time in microseconds since 1970; nil for 0.
    init?(sinceEpoch microseconds: UInt64) {
        guard microseconds > 0 else { return nil }
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
