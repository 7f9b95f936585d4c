extension NotifyClient {
    /// A notice that a subscription missed messages, or may have.
    public struct Gap: Hashable, Sendable {
        /// Where they were lost.
        public enum Reason: String, Hashable, Sendable {
            /// This connection did not read fast enough, so the daemon dropped them.
            case connectionTooSlow
            /// The consumer did not take them out of the subscription's buffer fast enough.
            case consumerTooSlow
            /// The connection was away. What was posted meanwhile is missed, and it is not known how much that was.
            case reconnected
            /// The durable subscription had been removed while the connection was away, and was made anew.
            case recreated
        }

        /// Where they were lost.
        public let reason: Reason
        /// How many; `nil` where nobody counted.
        public let missed: UInt64?
        /// The sequences between which they lie, both included, where they are known. Not every one of them was missed.
        public let sequences: ClosedRange<UInt64>?

        init(reason: Reason, missed: UInt64?, sequences: ClosedRange<UInt64>?) {
            self.reason = reason
            self.missed = missed
            self.sequences = sequences
        }
    }
}

extension NotifyClient.Gap: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        let count = missed.map { $0 == 1 ? "1 message" : "\($0) messages" } ?? "messages"
        let place = sequences.map { " between \($0.lowerBound) and \($0.upperBound)" } ?? ""
        return switch reason {
        case .connectionTooSlow: "missed \(count)\(place): the connection did not keep up"
        case .consumerTooSlow: "missed \(count)\(place): the consumer did not keep up"
        case .reconnected: "may have missed \(count)\(place) while there was no connection"
        case .recreated: "may have missed \(count)\(place): the durable subscription had been removed"
        }
    }
}
