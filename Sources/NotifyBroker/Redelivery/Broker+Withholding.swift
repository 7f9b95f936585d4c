import NotifyLog

/// Messages that wait, without a failure, for a member that may receive them.
extension Broker {
    /// Whether a further message may be withheld now. While storage fails, that waits, so that none is dropped because
    /// of the failure.
    func mayWithhold(_ slot: DurableSlot) -> Bool {
        durables[slot].redeliveries.mayWithholdWithoutRoom || (try? commits.checkRoom()) != nil
    }

    /// Drops the oldest withheld messages if they are too many, with a gap.
    mutating func limitWithheld(
        of slot: DurableSlot, to maximumBytes: Int = WithheldCopies.maximumBytes, now: BrokerTime
    ) {
        let sequences = durables[slot].redeliveries.removeExcessWithheld(maximumBytes: maximumBytes)
        guard let first = sequences.min(), let last = sequences.max() else { return }
        let dropped = Loss(first: first, last: last, count: UInt64(sequences.count), isUpperBound: false)
        guard let loss = durables[slot].lost(dropped, generation: durables[slot].cursor.generation) else { return }
        logLoss(loss, of: durables[slot].id, .withheld, now: now.monotonic)
        reportLoss(loss, of: slot)
    }
}
