import NotifyLog

/// Withheld messages: they wait, without a failure, for a member that may receive them.
extension Broker {
    /// Whether a further message may be withheld now. If not, the message waits until storage works: withholding it
    /// would drop an older withheld message.
    func mayWithhold(_ slot: DurableSlot) -> Bool {
        durables[slot].mayWithholdWithoutRoom || (try? commits.checkRoom()) != nil
    }

    /// Drops the oldest withheld messages if there are too many, and reports them in a gap.
    mutating func limitWithheld(
        of slot: DurableSlot, to maximumBytes: Int = WithheldCopies.maximumBytes, now: BrokerTime
    ) {
        let removed = durables[slot].removeExcessWithheld(maximumBytes: maximumBytes)
        if let loss = Loss(of: removed) { dropped(loss, of: slot, .withheld, now: now) }
    }

    /// Records messages that the broker has dropped. A gap reports them now, or when a client attaches.
    mutating func dropped(_ messages: Loss, of slot: DurableSlot, _ reason: LossLog.Reason, now: BrokerTime) {
        let loss = durables[slot].dropped(messages)
        durables.noteProgress(slot)
        logLoss(loss, of: durables[slot].id, reason, now: now.monotonic)
        reportLoss(loss, of: slot)
    }
}
