import NotifyWire

extension NotificationClient.Subscription {
    /// Forgets acknowledgements that a lost connection has left unsent and that are no longer needed, for example
    /// because another member of the group has acknowledged the message. Ends at the first message that still needs its
    /// acknowledgement, or after the closing timeout. Completes even in a cancelled task.
    nonisolated(nonsending) func forgetSettled() async {
        guard let ledger, let name = spec.durableName, let uid = core.uid, core.isConnected else { return }
        let end = core.clock.now + core.configuration.closingTimeout
        while let sequence = ledger.update({ $0.firstUnsent }) {
            guard await isSettled(sequence, name: name, uid: uid, until: end) else { return }
            ledger.update { $0.settled(sequence) }
        }
    }

    private nonisolated(nonsending) func isSettled(
        _ sequence: UInt64, name: String, uid: UInt32, until end: Duration
    ) async -> Bool {
        let call = FrameCall(
            TraceRequest(sequence: sequence), timeout: Swift.max(.zero, end - core.clock.now))
        core.call(call)
        do throws(NotifyError) {
            return try await call.slot.wait().subscriptions.allSatisfy { entry in
                entry.durableName != name || entry.uid != uid || entry.state.isSettled
            }
        } catch {
            // A message that is no longer stored is not delivered again.
            return error.code == .unknownMessage
        }
    }
}

extension TraceEntry.State {
    fileprivate var isSettled: Bool {
        switch self {
        case .pending, .inFlight, .waiting: false
        case .acknowledged, .beforeStart, .forbidden, .deadLetter: true
        }
    }
}
