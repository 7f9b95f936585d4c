import NotifyWire

// Servers. These methods may be called from any thread.
extension ClientCore {
    /// The calls of a new server.
    func receivedCalls() -> ReceivedCalls {
        ReceivedCalls { [weak self] call, outcome in self?.respond(to: call, outcome) }
    }

    /// Registers a server. `openWaiter` gets the outcome.
    ///
    /// - Returns: The number of the server; 0 if it was refused.
    func serve(
        _ patterns: [String], concurrency: UInt32, _ calls: ReceivedCalls, openWaiter: ReplySlot<Void>
    ) -> UInt32 {
        guard !Fork.isChild else {
            openWaiter.fail(.forked)
            return 0
        }
        let entry = ServerRegistration(
            patterns: patterns, concurrency: concurrency, calls: calls, openWaiter: openWaiter)
        return process { $0.serve(entry, now: clock.now, &$1) }
    }

    /// Ends a server. `slot` is answered when the daemon has confirmed that no further call follows; nil while handlers
    /// may run.
    func endServing(_ number: UInt32, _ slot: ReplySlot<Void>?) {
        if Fork.isChild {
            slot?.fail(.forked)
            return
        }
        process { $0.endServing(number, slot, now: clock.now, &$1) }
    }

    func respond(
        to call: ReceivedCall, _ outcome: Respond.Outcome, headers: [UInt8] = [], payload: [UInt8] = []
    ) {
        if Fork.isChild { return }
        process { machine, _ in machine.respond(to: call, outcome, headers: headers, payload: payload) }
    }
}
