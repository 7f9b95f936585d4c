/// The states of a message, and the step that follows a delivery.
extension Redeliveries {
    enum State: Equatable {
        /// The message is delivered again at this time.
        case waiting(until: Duration)
        /// The message is delivered again as soon as the log has its copy and a member has room.
        case due
        /// The copy is being read.
        case reading
        /// The message was delivered to a member, which must answer by the deadline if there is one.
        case inFlight(MemberID, deadline: Duration?)
        /// The message must become a dead letter.
        case dead
        /// The message becomes a dead letter with the next batch.
        case deadLettering
    }

    /// The next step of a message.
    struct Next {
        let state: State

        static func wait(microseconds delay: UInt64, now: BrokerTime) -> Next {
            Next(state: .waiting(until: now.monotonic + .microseconds(Int64(delay))))
        }

        static func hold(_ member: MemberID, deadline: Duration?) -> Next {
            Next(state: .inFlight(member, deadline: deadline))
        }

        static let due = Next(state: .due)
        static let deadLetter = Next(state: .dead)
    }
}

extension Redeliveries {
    /// The time of a message's redelivery, in microseconds since 1970; nil if no time is set for it.
    func dueTime(of sequence: UInt64, now: BrokerTime) -> UInt64? {
        guard case .waiting(let until)? = messages[sequence]?.state else { return nil }
        return now.wallMicroseconds + UInt64(max(.zero, until - now.monotonic) / .microseconds(1))
    }

    /// The earliest time that is set for a redelivery; nil if none is set. Visits all messages.
    func nextDueTime(now: BrokerTime) -> UInt64? { messages.keys.compactMap { dueTime(of: $0, now: now) }.min() }
}

extension Redeliveries.State {
    /// The time at which the state ends by itself; nil if it does not.
    var time: Duration? {
        switch self {
        case .waiting(let until): until
        case .inFlight(_, let deadline): deadline
        case .due, .reading, .dead, .deadLettering: nil
        }
    }
}
