import NotifyWire

/// Answers and refusals.
extension Broker {
    /// Sends an answer, unless the connection is being closed: nothing follows its final error, not even the outcome of
    /// an earlier request.
    mutating func answer(_ slot: ConnectionSlot, _ frame: some ControlFrame) {
        guard !connections[slot].session.isClosing else { return }
        egress.append(frame, to: slot)
    }

    mutating func answer(_ slot: ConnectionSlot, receipt: Receipt) {
        guard !connections[slot].session.isClosing else { return }
        egress.append(receipt: receipt, to: slot)
    }

    /// Answers a request with an error. The connection stays open.
    mutating func refuse(
        _ slot: ConnectionSlot, request: UInt64, _ error: WireError, subscription: UInt32 = 0, detail: UInt64 = 0
    ) {
        scheduler.spend(FairScheduler.Cost.refusal)
        connections[slot].counters.refused += 1
        if logs(.debug) {
            log(.refused(request: request, code: error.code, message: error.message, isFatal: false), on: slot)
        }
        answer(
            slot,
            ErrorFrame(
                request: request, code: error.code, subscription: subscription, detail: detail,
                message: error.message))
        pauseIfErrorsUnread(slot)
    }

    /// Answers an invalid request with an error. A malformed frame also closes the connection, because later frames
    /// can't be trusted.
    mutating func reject(_ slot: ConnectionSlot, request: UInt64, _ error: WireError, now: BrokerTime) {
        if error.code == .malformedFrame {
            fail(slot, error, now: now)
        } else {
            if error.code == .forbidden { reportForbidden(error, on: slot, now: now) }
            refuse(slot, request: request, error)
        }
    }

    private mutating func reportForbidden(_ error: WireError, on slot: ConnectionSlot, now: BrokerTime) {
        statistics.forbidden += 1
        // From this level on, `refuse` logs every refusal.
        if logs(.debug) { return }
        guard let omitted = access.forbiddenLog.record(connections[slot].uid, now: now.monotonic) else { return }
        log(.forbidden(message: error.message, omitted: omitted), on: slot)
    }

    /// Sends a final error. The connection is closed once the error is written, at the latest at the closing deadline.
    mutating func fail(_ slot: ConnectionSlot, _ error: WireError, detail: UInt64 = 0, now: BrokerTime) {
        guard !connections[slot].session.isClosing else { return }
        if logs(.debug) {
            log(.refused(request: 0, code: error.code, message: error.message, isFatal: true), on: slot)
        }
        release(slot, now: now)
        answer(slot, ErrorFrame(code: error.code, detail: detail, message: error.message, isFatal: true))
        connections.failed(slot, closingDeadline: now.monotonic + configuration.closingTimeout)
    }

    /// Whether the host must close the connection once everything taken from its outbox is written.
    package func isClosing(_ id: ConnectionID) -> Bool {
        connections.contains(id) && connections[id.slot].session.isClosing
    }
}
