import NotifyWire

extension NotifyClient {
    /// A durable subscription as the daemon keeps it.
    public struct DurableSubscription: Hashable, Sendable {
        /// Its name, unique for its user.
        public let name: String
        /// Whose it is.
        public let uid: UInt32
        /// What it is for.
        public let patterns: [String]
        /// Where set, only messages with this object.
        public let object: String?
        /// Every message up to this sequence is done with.
        public let cursor: UInt64
        /// The process that holds it; `nil` while nobody does.
        public let holderPID: UInt32?

        init(_ entry: ListEntry) {
            name = entry.durableName
            uid = entry.uid
            patterns = entry.patterns
            object = entry.object.isEmpty ? nil : entry.object
            cursor = entry.cursor
            holderPID = entry.holderPID == 0 ? nil : entry.holderPID
        }
    }

    /// How much of something limited is in use.
    public struct ResourceUse: Hashable, Sendable {
        /// What it is: `memory_bytes` in all, or for a user such as `user.1000.subscriptions`.
        public let name: String
        /// How many there are, or bytes.
        public let used: UInt64
        /// How many there may be now; nil if nothing but the memory limits it.
        public let limit: UInt64?

        static func all(in report: StatisticsReport) -> [ResourceUse] {
            let suffix = ".limit"
            let limits = Dictionary(
                report.counters.filter { $0.name.hasSuffix(suffix) }.map { ($0.name.dropLast(suffix.count), $0.value) },
                uniquingKeysWith: { first, _ in first })
            return report.counters.filter { !$0.name.hasSuffix(suffix) }.map {
                ResourceUse(name: $0.name, used: $0.value, limit: limits[$0.name[...]])
            }
        }
    }

    /// The daemon's counters, and its version.
    public struct Statistics: Hashable, Sendable {
        /// One of them.
        public struct Counter: Hashable, Sendable {
            /// What it counts, such as `messages_in`.
            public let name: String
            /// How many since the daemon's start, or at present.
            public let value: UInt64
        }

        /// In the daemon's order.
        public let counters: [Counter]
        /// The daemon's version.
        public let version: String

        init(_ report: StatisticsReport, version: String) {
            counters = report.counters.map { Counter(name: $0.name, value: $0.value) }
            self.version = version
        }

        /// The value of a counter, if the daemon has it.
        public subscript(name: String) -> UInt64? {
            counters.first { $0.name == name }?.value
        }
    }
}
