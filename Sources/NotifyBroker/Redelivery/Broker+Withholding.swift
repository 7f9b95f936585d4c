import NotifyLog

/// Messages that wait, without a failure, for a member that may receive them.
extension Broker {
    /// Whether a further message may be withheld now. While storage fails, that waits, so that none is dropped because
    /// of the failure.
    func mayWithhold(_ slot: DurableSlot) -> Bool {
        durables[slot].mayWithholdWithoutRoom || (try? commits.checkRoom()) != nil
    }

    /// Drops the oldest withheld messages if they are too many, with a gap.
    mutating func limitWithheld(
        of slot: DurableSlot, to maximumBytes: Int = WithheldCopies.maximumBytes, now: BrokerTime
    ) {
        let removed = durables[slot].removeExcessWithheld(maximumBytes: maximumBytes)
        if let loss = Loss(of: removed) { dropped(loss, of: slot, .withheld, now: now) }
    }

    /// Records messages that the broker has dropped, and sends a gap for them: now, or when a client attaches.
    mutating func dropped(_ messages: Loss, of slot: DurableSlot, _ reason: LossLog.Reason, now: BrokerTime) {
        let loss = durables[slot].dropped(messages)
        durables.noteProgress(slot)
        logLoss(loss, of: durables[slot].id, reason, now: now.monotonic)
        reportLoss(loss, of: slot)
    }
}
