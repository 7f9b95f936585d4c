import NotifyLog

extension Redeliveries {
    /// A message that waits for a redelivery, is in flight again, or must become a dead letter.
    struct Message {
        var state: State
        var failures: UInt32
        let bytes: UInt32
        /// Whether the log has the copy.
        var isStored: Bool
        /// The identities that may receive the message. Known, if at all, only while the message is due.
        var rights = MessageRights.unknown
        /// Whether the last attempt to deliver the message found no member with room that may receive it.
        var isSetAside = false
        /// The members that received the message last. Each of them may acknowledge it.
        var holders: [MemberID] = []

        /// Whether the message waits, without a failure, for a member that may receive it.
        var isWithheld: Bool { isSetAside && state == .due && rights.isRestricted && failures == 0 }

        func record(_ sequence: UInt64, now: Duration) -> Redelivery {
            let isDead = state == .dead || state == .deadLettering
            let delay: Duration = if case .waiting(let until) = state { max(.zero, until - now) } else { .zero }
            return Redelivery(
                sequence: sequence, failures: failures, delayMicroseconds: UInt64(delay / .microseconds(1)),
                isDead: isDead, bytes: bytes)
        }
    }
}
