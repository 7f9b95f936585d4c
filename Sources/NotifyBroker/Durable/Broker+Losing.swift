package import NotifyLog
import NotifyWire

/// Messages that the store deleted by itself, and durable subscriptions that had not acknowledged them.
extension Broker {
    /// Must be called when the store has deleted messages by itself.
    package mutating func deleted(_ deletion: Deletion) {
        storedUsages.remove(deletion.usage)
        statistics.deleted += deletion.usage.values.reduce(0) { $0 + UInt64($1.messages) }
        for name in deletion.names { ledger.nameRemoved(name) }
        for (id, loss) in deletion.losses.sorted(by: { $0.key < $1.key }) {
            guard let slot = durables.slot(of: id) else { continue }
            durables[slot].lost(loss)
            readers.evictRing(through: loss.last)
            actions.append(.warn(lossText(loss, of: slot)))
            // A reader past the loss has delivered the messages.
            if let reader = durables[slot].reader, readers[reader].position < loss.last {
                sendGap(loss, .deleted, to: slot)
            }
        }
    }

    private func lossText(_ loss: Loss, of slot: DurableSlot) -> String {
        "durable subscription '\(durables[slot].name)' of user \(durables[slot].uid) lost "
            + "\(loss.isUpperBound ? "at most " : "")\(loss.count) messages (\(loss.first) to \(loss.last)): "
            + "the retention rules deleted them"
    }

    /// Tells the attached client what the subscription does not get.
    mutating func sendGap(_ loss: Loss, _ reason: Gap.Reason, to slot: DurableSlot) {
        guard let attachment = durables[slot].member?.attachment else { return }
        answer(
            attachment.connection.slot,
            Gap(
                reason: reason, isUpperBound: loss.isUpperBound, subscription: attachment.number,
                dropped: loss.count, range: SequenceRange(first: loss.first, last: loss.last)))
    }

    /// Forgets a loss that the client knows of. Must be called after an acknowledgement.
    mutating func forgetPassedLoss(of slot: DurableSlot) {
        guard let loss = durables[slot].takePassedLoss() else { return }
        commits.append(.forgetLoss(id: durables[slot].id, through: loss.last))
    }
}
