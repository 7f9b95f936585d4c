import NotifyWire

/// A value that the client announces.
struct AnnouncementRegistration: Registration {
    enum Phase: Equatable {
        /// Waiting for a connection, until the deadline if the value was never announced, otherwise without limit.
        case waiting(deadline: Duration?)
        /// Requested, not answered yet.
        case requested
        /// Announced.
        case live
    }

    var content: AnnouncedContent
    /// Whether to replace a value of another connection. Only at first: a value that was lost to another client is not
    /// taken back.
    var takesOver: Bool
    let end: AnnouncementEnd
    var phase = Phase.waiting(deadline: nil)
    /// The last request on this connection with which the daemon has announced the value; 0 if there is none.
    var request: UInt64 = 0
    var openWaiter: ReplySlot<Announced>?

    var deadline: Duration? {
        if case .waiting(let deadline) = phase { deadline } else { nil }
    }
}

extension RegistrationTable<AnnouncementRegistration> {
    func number(announcedBy request: UInt64) -> UInt32? { firstNumber { $0.request == request } }
}
