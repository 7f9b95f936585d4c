public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// A summary of the daemon's log: for each name, the number and bytes of its messages, and the first and last one.
    public struct LogSummary: Hashable, Sendable {
        /// The sequence and the time of a message.
        public struct Position: Hashable, Sendable {
            /// The sequence of the message.
            public let sequence: UInt64
            /// The time of posting, by the daemon's clock.
            public let date: Date
        }

        /// The totals of a name's messages, or of the messages of several names together.
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

        /// A name with the totals of its messages.
        public struct Name: Hashable, Sendable {
            /// The name.
            public let name: String
            /// The totals of the name's messages.
            public let totals: Totals
        }

        /// The names with the most bytes, in descending order.
        public let names: [Name]
        /// The totals of all names beyond the limit of ``names``; `nil` if there are none.
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
