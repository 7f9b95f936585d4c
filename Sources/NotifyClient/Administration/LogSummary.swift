public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// The stored messages of names in the daemon's log.
    public struct LogSummary: Hashable, Sendable {
        /// A message: its sequence, and when it was posted.
        public struct Position: Hashable, Sendable {
            /// The sequence of the message.
            public let sequence: UInt64
            /// The time of posting, by the daemon's clock.
            public let date: Date
        }

        /// The messages of a name, or of several names together.
        public struct Totals: Hashable, Sendable {
            /// The number of messages.
            public let messages: UInt64
            /// The bytes that the messages take in the daemon's log.
            public let bytes: UInt64
            /// The first message.
            public let first: Position
            /// The last message.
            public let last: Position
        }

        /// A name with its messages.
        public struct Name: Hashable, Sendable {
            /// The name.
            public let name: String
            /// Its messages.
            public let totals: Totals
        }

        /// The names with the most bytes, in descending order.
        public let names: [Name]
        /// The sum of the names for which ``names`` has no room; `nil` if there are none.
        public let others: Totals?

        init(_ entries: [StoredNameEntry]) {
            names = entries.lazy.filter { !$0.name.isEmpty }.map { Name(name: $0.name, totals: Totals($0)) }
            others = entries.last { $0.name.isEmpty }.map { Totals($0) }
        }
    }
}

extension NotificationClient.Administration.LogSummary.Totals {
    fileprivate init(_ entry: StoredNameEntry) {
        messages = entry.messages
        bytes = entry.bytes
        first = .init(sequence: entry.first, microseconds: entry.firstMicroseconds)
        last = .init(sequence: entry.last, microseconds: entry.lastMicroseconds)
    }
}

extension NotificationClient.Administration.LogSummary.Position {
    fileprivate init(sequence: UInt64, microseconds: UInt64) {
        self.sequence = sequence
        date = Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
