extension NotificationClient {
    /// A notice that a subscription missed messages or may have missed some.
    public struct Gap: Hashable, Sendable {
        /// The reason for missed messages.
        public enum Reason: String, Hashable, Sendable {
            /// The client did not read from the connection fast enough, so the daemon dropped messages.
            case connectionTooSlow
            /// The consumer did not read from the subscription's buffer fast enough, so the client dropped messages.
            case consumerTooSlow
            /// The client was disconnected. Matching messages posted before it had subscribed again were missed.
            case reconnected
            /// The cursor of the durable subscription was reset, or the subscription was removed and created again
            /// while the client was disconnected.
            case recreated
            /// The daemon no longer keeps messages that the durable subscription had not acknowledged, or that a reader
            /// of the log had not reached. The retention rules, the limit of a user's unread messages, a purge or a
            /// repair has removed them. If the policy denies messages to the attached clients, these messages wait for
            /// a client that may receive them, and the daemon drops some if too many wait. While no client is attached,
            /// the daemon also drops messages that are damaged, or that none of the clients that have attached may
            /// receive.
            case deleted
            /// Messages in the daemon's log are damaged, so the daemon does not deliver them.
            case damaged
            /// Messages waited for a client that may receive them. Under the present policy, none of the clients that
            /// have attached to the durable subscription may receive them any more. If no client is attached when the
            /// policy changes, the reason is ``deleted``.
            case forbidden
        }

        /// The reason for the missed messages.
        public let reason: Reason
        /// The number of missed messages; `nil` if it is unknown.
        public let missed: UInt64?
        /// Whether ``missed`` is only an upper bound. If so, the number may include messages that do not match the
        /// subscription: messages posted while the client was disconnected, deleted messages with another object, or
        /// damaged messages whose name is unknown. It may also include deleted messages that were delivered and not
        /// acknowledged.
        public let isUpperBound: Bool
        /// A range of sequences that includes all missed messages whose sequences are known, and possibly others; `nil`
        /// if none are known.
        public let sequences: ClosedRange<UInt64>?

        /// Makes a gap, for example in a test.
        public init(reason: Reason, missed: UInt64?, isUpperBound: Bool = false, sequences: ClosedRange<UInt64>?) {
            self.reason = reason
            self.missed = missed
            self.isUpperBound = isUpperBound
            self.sequences = sequences
        }
    }
}

extension NotificationClient.Gap {
    static var recreated: Self { Self(reason: .recreated, missed: nil, sequences: nil) }

    /// Makes the gap of a volatile subscription after a reconnect.
    ///
    /// - Parameters:
    ///   - earlier: The daemon's sequence up to which the subscription had received its messages.
    ///   - sequence: The daemon's sequence when the subscription was attached again.
    /// - Returns: The gap; nil if no message was posted between the two sequences.
    static func reconnected(after earlier: UInt64, at sequence: UInt64) -> Self? {
        // A daemon with another log has other sequences, so the number of messages is unknown.
        guard earlier <= sequence else { return Self(reason: .reconnected, missed: nil, sequences: nil) }
        guard earlier < sequence else { return nil }
        return Self(
            reason: .reconnected, missed: sequence - earlier, isUpperBound: true, sequences: earlier + 1...sequence)
    }

    /// Merges two gaps with the same reason and no message between them.
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

extension NotificationClient.Gap: CustomStringConvertible {
    /// One line to display.
    public var description: String {
        let count =
            missed.map { "\(isUpperBound ? "up to " : "")\($0) \($0 == 1 ? "message" : "messages")" } ?? "messages"
        let place =
            sequences.map {
                $0.lowerBound == $0.upperBound ? " (\($0.lowerBound))" : " (\($0.lowerBound)–\($0.upperBound))"
            } ?? ""
        return switch reason {
        case .connectionTooSlow: "dropped \(count)\(place): the connection was too slow"
        case .consumerTooSlow: "dropped \(count)\(place): the consumer was too slow"
        case .reconnected: "may have missed \(count)\(place) while disconnected"
        case .deleted: "lost \(count)\(place): the daemon no longer keeps them"
        case .damaged: "lost \(count)\(place): they are damaged in the daemon's log"
        case .forbidden: "lost \(count)\(place): no client that attached may receive them any more"
        case .recreated:
            "may have missed \(count)\(place): the durable subscription was removed and created again, or its cursor was reset"
        }
    }
}
