import NotifyWire

extension NotificationClient.Administration {
    /// The known damage of the daemon's log, and problems of the daemon.
    public struct LogCheck: Hashable, Sendable {
        /// A part of the log other than messages.
        public enum Part: String, Hashable, Sendable {
            /// The database itself: a part that can't be read, or is malformed.
            case database
            /// The state from which sequences continue.
            case state
            /// A name of messages.
            case name
            /// A group of successive messages with their counts.
            case segment
            /// A durable subscription.
            case subscription
            /// A value, or the mark of a cleared one.
            case value
        }

        /// A problem of the log other than damaged messages.
        public struct Problem: Hashable, Sendable {
            /// The damaged part.
            public let part: Part
            /// A description of the damage, in one line.
            public let text: String
        }

        /// The rows that are sound.
        public struct SoundRows: Hashable, Sendable {
            /// The number of messages.
            public let messages: UInt64
            /// The number of names.
            public let names: UInt64
            /// The number of closed segments, which are groups of successive messages.
            public let segments: UInt64
            /// The number of durable subscriptions.
            public let subscriptions: UInt64
        }

        /// The sound rows; `nil` if not every row was checked.
        public let sound: SoundRows?
        /// The number of damaged messages that are known.
        public let damagedMessages: UInt64
        /// The sequences of damaged messages, ascending. Incomplete if there are more than 256 ranges.
        public let damagedSequences: [ClosedRange<UInt64>]
        /// The number of other problems.
        public let problemCount: UInt64
        /// The first of the other problems, at most 32.
        public let problems: [Problem]
        /// The reason why posts to be stored are refused, and the remedy, in one line; `nil` if storing works.
        public let storageProblem: String?
        /// The reason why the last reload of the configuration failed, in one line; `nil` if it succeeded.
        public let configurationProblem: String?

        /// Whether no damage is known.
        public var isSound: Bool { damagedMessages == 0 && problemCount == 0 }

        init(_ report: CheckReport) {
            sound =
                report.isFull
                ? SoundRows(
                    messages: report.messages, names: report.names, segments: report.segments,
                    subscriptions: report.subscriptions) : nil
            damagedMessages = report.damagedMessages
            damagedSequences = report.damagedRanges.compactMap { $0.first <= $0.last ? $0.first...$0.last : nil }
            problemCount = report.problemCount
            problems = report.problems.compactMap { problem in
                Part(problem.part).map { Problem(part: $0, text: problem.text) }
            }
            storageProblem = report.problems.first { $0.part == .storage }?.text
            configurationProblem = report.problems.first { $0.part == .configuration }?.text
        }
    }
}

extension NotificationClient.Administration.LogCheck.Part {
    /// Fails for a problem of the daemon, because the daemon is not part of the log.
    fileprivate init?(_ part: LogPart) {
        switch part {
        case .database: self = .database
        case .state: self = .state
        case .name: self = .name
        case .segment: self = .segment
        case .subscription: self = .subscription
        case .value: self = .value
        case .storage, .configuration: return nil
        }
    }
}
