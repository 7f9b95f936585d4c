public import FoundationEssentials
import NotifyWire

extension NotifyClient {
    /// A durable subscription with its history, as described by the daemon.
    public struct DurableDetails: Hashable, Sendable {
        /// The attachment of a client.
        public struct Attachment: Hashable, Sendable {
            /// When the client attached.
            public let date: Date
            /// The pid of the client, which may have ended since.
            public let pid: UInt32
        }

        /// What ``NotifyClient/durableSubscriptions()`` lists.
        public let subscription: DurableSubscription
        /// How the subscription repeats its messages. All settings have a value.
        public let settings: DurableSettings
        /// When the subscription was created; `nil` if an earlier version of the daemon created it.
        public let created: Date?
        /// The last attachment that received messages, present or past; `nil` if there was none since the subscription
        /// was created, or if ``created`` is `nil` and it was to an earlier version of the daemon.
        public let lastAttachment: Attachment?
        /// The time without a client after which the daemon removes the subscription; `nil` if it does not.
        public let expiry: Duration?
        /// How long no client has been attached, zero while one is; `nil` if the daemon has not determined it yet.
        public let unused: Duration?

        init(_ description: DurableDescription) {
            subscription = DurableSubscription(description.entry)
            settings = DurableSettings(description.settings)
            created = Date(sinceEpoch: description.createdMicroseconds)
            lastAttachment = Date(sinceEpoch: description.attachedMicroseconds).map { date in
                Attachment(date: date, pid: description.attachedPID)
            }
            expiry = description.expiryMicroseconds == 0 ? nil : .microseconds(description.expiryMicroseconds)
            unused = description.unusedMicroseconds.map { .microseconds($0) }
        }
    }
}

extension Date {
    /// The date of a time in microseconds since 1970; nil for 0.
    fileprivate init?(sinceEpoch microseconds: UInt64) {
        guard microseconds > 0 else { return nil }
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
