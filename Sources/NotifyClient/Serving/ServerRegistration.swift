import NotifyWire

/// A server of the client.
struct ServerRegistration: Registration {
    enum Phase: Equatable {
        /// Waiting for a connection, until the deadline if the server was never registered, otherwise without limit.
        case waiting(deadline: Duration?)
        /// Requested, not answered yet.
        case requested
        /// Registered by the daemon.
        case live
        /// Being ended; the daemon's confirmation is pending.
        case ending
        /// No further call follows; handlers may still run.
        case ended
    }

    let patterns: [String]
    let concurrency: UInt32
    let calls: ReceivedCalls
    var phase = Phase.waiting(deadline: nil)
    var openWaiter: ReplySlot<Void>?
    /// The task that has waited for the handlers, and now waits for the end.
    var endWaiter: ReplySlot<Void>?

    var deadline: Duration? {
        if case .waiting(let deadline) = phase { deadline } else { nil }
    }
}
