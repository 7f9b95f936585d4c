/// What can be the state of a message, and what follows a delivery.
extension Redeliveries {
    enum State: Equatable {
        /// The message is delivered again at this time.
        case waiting(until: Duration)
        /// The message is delivered again as soon as the log has its copy and a member has room.
        case due
        /// The copy is being read.
        case reading
        /// The message is delivered to a member, which must answer by the deadline, if there is one.
        case inFlight(MemberID, deadline: Duration?)
        /// The message is to become a dead letter.
        case dead
        /// The message becomes a dead letter with the next batch.
        case deadLettering
    }

    /// What happens to a message next.
    struct Next {
        let state: State
        /// When the next delivery is due by the wall clock, in microseconds since 1970, for the log.
        let dueMicroseconds: UInt64

        static func wait(microseconds delay: UInt64, now: BrokerTime) -> Next {
            Next(
                state: .waiting(until: now.monotonic + .microseconds(Int64(delay))),
                dueMicroseconds: now.wallMicroseconds + delay)
        }

        static func hold(_ member: MemberID, deadline: Duration?, now: BrokerTime) -> Next {
            Next(state: .inFlight(member, deadline: deadline), dueMicroseconds: now.wallMicroseconds)
        }

        static func deadLetter(now: BrokerTime) -> Next { Next(state: .dead, dueMicroseconds: now.wallMicroseconds) }
    }
}

extension Redeliveries.State {
    /// When the state ends by itself; nil if it does not.
    var time: Duration? {
        switch self {
        case .waiting(let until): until
        case .inFlight(_, let deadline): deadline
        case .due, .reading, .dead, .deadLettering: nil
        }
    }
}
