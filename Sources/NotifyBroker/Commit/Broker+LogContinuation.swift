package import NotifyLog
import NotifyWire

/// The initial content of a new log that replaces one whose files are lost.
extension Broker {
    /// Whether the store is committing a batch. If so, the set of durable subscriptions in the log is unknown.
    package var isCommitting: Bool { commits.inFlight != nil }

    /// Whether the log is damaged. If so, nothing is committed to it.
    package var isLogDamaged: Bool { commits.health.failure?.kind == .damaged }

    /// The content of the log besides messages. Excludes subscriptions whose creation is pending, because the next
    /// batch adds them.
    package var logContinuation: LogContinuation {
        let pending = commits.pending.changes.compactMap { if case .create(let record) = $0 { record.id } else { nil } }
        let records = durables.slots.map { durables.record(of: $0, owner: access.identity(durables[$0].owner)) }
        return LogContinuation(
            reservedBelow: max(commits.sequencer.reservedBelow, commits.sequencer.next),
            nextSubscriptionID: durables.nextID,
            subscriptions: records.filter { !pending.contains($0.id) }.sorted { $0.id < $1.id })
    }
}

extension Broker {
    /// Must be called when a new log has replaced a lost one. From then on, only the messages of the pending batch and
    /// of the batch in flight, and their names, count as stored.
    ///
    /// - Parameter losses: The messages that subscriptions have lost. Those still in memory are delivered nevertheless.
    package mutating func logReplaced(losses: [DurableID: Loss] = [:]) {
        var usage = commits.pending.usage
        var blocks = commits.pending.blocks
        if let batch = commits.inFlight {
            usage.add(batch.log.usage)
            blocks += batch.log.blocks
        }
        storedUsages.reset(to: usage)
        ledger.setStoredNames(of: blocks, in: commits.nextBatchID)
        logChecks.logReplaced()
        for (id, loss) in losses.sorted(by: { $0.key < $1.key }) {
            guard let slot = durables.slot(of: id) else { continue }
            if let loss = durables[slot].lost(loss, generation: durables[slot].cursor.generation) {
                sendGap(loss, .deleted, to: slot)
            }
        }
    }
}

extension DurableSubscriptions {
    func record(of slot: DurableSlot, owner: Identity) -> DurableRecord {
        DurableRecord(
            id: self[slot].id, owner: owner, name: self[slot].name, filter: self[slot].filter,
            settings: self[slot].settings, startedAfter: self[slot].startedAfter,
            createdMicroseconds: self[slot].createdMicroseconds,
            lastAttachment: self[slot].lastAttachment, progress: self[slot].progress, loss: self[slot].loss)
    }
}
