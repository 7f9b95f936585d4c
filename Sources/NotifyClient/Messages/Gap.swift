extension NotifyClient {
    /// A notice that a subscription missed messages, or may have.
    public struct Gap: Hashable, Sendable {
        /// Where they were lost.
        public enum Reason: String, Hashable, Sendable {
            /// This connection did not read fast enough, so the daemon dropped them.
            case connectionTooSlow
            /// The consumer did not take them out of the subscription's buffer fast enough.
            case consumerTooSlow
            /// There was no connection for a while, and messages posted meanwhile are missed.
            case reconnected
            /// The durable subscription was removed and created again, or its cursor was reset, while there was no
            /// connection.
            case recreated
        }

        /// Where they were lost.
        public let reason: Reason
        /// The number of messages; `nil` where it is unknown.
        public let missed: UInt64?
        /// Whether ``missed`` is the highest possible number. The daemon does not know which of the messages that were posted
        /// without a connection matched the subscription, so that fewer, or none, may be missed.
        public let isUpperBound: Bool
        /// The range of sequences that holds the missed messages, where it is known. Not all messages in it are missed.
        public let sequences: ClosedRange<UInt64>?

        init(reason: Reason, missed: UInt64?, isUpperBound: Bool = false, sequences: ClosedRange<UInt64>?) {
            self.reason = reason
            self.missed = missed
            self.isUpperBound = isUpperBound
            self.sequences = sequences
        }
    }
}

extension NotifyClient.Gap {
    static var recreated: Self { Self(reason: .recreated, missed: nil, sequences: nil) }

    /// The gap of a volatile subscription after a reconnect; nil where no message was posted meanwhile.
    ///
    /// - Parameters:
    ///   - earlier: The daemon's sequence up to which the subscription had received its messages.
    ///   - sequence: The daemon's sequence when the subscription was attached again.
    static func reconnected(after earlier: UInt64, at sequence: UInt64) -> Self? {
        // A daemon with another log counts from its own beginning: the number of messages is unknown.
        guard earlier <= sequence else { return Self(reason: .reconnected, missed: nil, sequences: nil) }
        guard earlier < sequence else { return nil }
        return Self(
            reason: .reconnected, missed: sequence - earlier, isUpperBound: true, sequences: earlier + 1...sequence)
    }

    /// One gap in place of two for the same reason with no message between them.
    func joined(with other: Self) -> Self {
        var joined = sequences ?? other.sequences
        if let mine = sequences, let others = other.sequences {
            joined = min(mine.lowerBound, others.lowerBound)...max(mine.upperBound, others.upperBound)
        }
        let sum = missed.flatMap { mine in other.missed.map { mine.addingReportingOverflow($0) } }
        return Self(
            reason: reason, missed: sum.map { $0.overflow ? .max : $0.partialValue },
            isUpperBound: isUpperBound || other.isUpperBound, sequences: joined)
    }
}

extension NotifyClient.Gap: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        let count =
            missed.map { "\(isUpperBound ? "up to " : "")\($0) \($0 == 1 ? "message" : "messages")" } ?? "messages"
        let place =
            sequences.map {
                $0.lowerBound == $0.upperBound ? " (\($0.lowerBound))" : " (\($0.lowerBound)–\($0.upperBound))"
            } ?? ""
        return switch reason {
        case .connectionTooSlow: "missed \(count)\(place): the connection did not keep up"
        case .consumerTooSlow: "missed \(count)\(place): the consumer did not keep up"
        case .reconnected: "may have missed \(count)\(place) while there was no connection"
        case .recreated: "may have missed \(count)\(place): the durable subscription had been removed"
        }
    }
}
