import NotifyWire

extension NotificationClient.Administration {
    /// The use of a limited resource.
    public struct ResourceUse: Hashable, Sendable {
        /// The name of a resource of the whole daemon, such as `memory_bytes`, or of a user, such as
        /// `user.1000.subscriptions`.
        public let name: String
        /// The amount in use, as a count or in bytes.
        public let used: UInt64
        /// The current limit; `nil` if the resource has no limit of its own.
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

    /// The daemon's counters and version.
    public struct Statistics: Hashable, Sendable {
        /// A named counter.
        public struct Counter: Hashable, Sendable {
            /// The name, such as `messages_in`.
            public let name: String
            /// The total since the daemon's start or the current value, depending on ``kind``.
            public let value: UInt64

            /// The kind of the value; `unknown` if this version of the client does not know the counter.
            public var kind: Kind {
                Statistic(rawValue: name).map { $0.isTotal ? .total : .present } ?? .unknown
            }

            /// A sentence that describes the counter; `nil` if this version of the client does not know the counter.
            public var summary: String? { Statistic(rawValue: name)?.summary }
        }

        /// The kinds of values of a counter.
        public enum Kind: Hashable, Sendable {
            /// The number of events since the daemon's start.
            case total
            /// A current value, which rises and falls.
            case present
            /// The kind is unknown to this version of the client.
            case unknown
        }

        /// The counters, in the daemon's order.
        public let counters: [Counter]
        /// The daemon's version.
        public let version: String

        init(_ report: StatisticsReport, version: String) {
            counters = report.counters.map { Counter(name: $0.name, value: $0.value) }
            self.version = version
        }

        /// The value of a counter; `nil` if the daemon has none of this name.
        public subscript(name: String) -> UInt64? {
            counters.first { $0.name == name }?.value
        }
    }
}
