package import NotifyLog
import NotifyWire

/// The initial content of a new log that replaces one whose files are lost.
extension Broker {
    /// Whether the store is committing a batch. If so, it is unknown which durable subscriptions the log contains.
    package var isCommitting: Bool { commits.inFlight != nil }

    /// Whether the content of the log is damaged. If so, nothing is committed to the log.
    package var isLogDamaged: Bool { commits.health.failure?.kind == .damaged }

    /// The content for a new log: the durable subscriptions, and the messages of the old log that are in memory.
    /// Excludes subscriptions whose creation is pending, because the next batch adds them.
    package var logContinuation: LogContinuation {
        let pending = commits.pending.changes.compactMap { if case .create(let record) = $0 { record.id } else { nil } }
        let records = durables.slots.map { record(of: $0) }
        return LogContinuation(
            reservedBelow: max(commits.sequencer.reservedBelow, commits.sequencer.next),
            nextSubscriptionID: durables.nextID,
            subscriptions: records.filter { !pending.contains($0.id) }.sorted { $0.id < $1.id },
            messages: pages.readers.ring.blocks(after: 0).map(\.block))
    }
}

extension Broker {
    /// The record of a durable subscription for the log.
    func record(of slot: DurableSlot) -> DurableRecord {
        let durable = durables[slot]
        let owners = durable.identities.inOrder.map { access.identity($0) }
        return DurableRecord(
            id: durable.id, owner: access.identity(durable.owner), earlierOwners: owners.dropLast(), name: durable.name,
            filter: durable.filter, settings: durable.settings, startedAfter: durable.startedAfter,
            createdMicroseconds: durable.createdMicroseconds, lastAttachment: durable.lastAttachment,
            progress: durable.progress, loss: durable.savedLoss)
    }

    /// Must be called when a new log has replaced a lost one. From then on, the users' stored bytes and stored names
    /// are those of the messages of the new log, the pending batch and the batch in flight.
    ///
    /// - Parameters:
    ///   - messages: The messages of the new log, from its ``LogContinuation``.
    ///   - losses: The messages that subscriptions have lost.
    package mutating func logReplaced(keeping messages: [LogBlock] = [], losses: [DurableID: Loss] = [:]) {
        var usage = commits.pending.usage
        for block in messages { usage.add(block) }
        var blocks = commits.pending.blocks
        if let batch = commits.inFlight {
            usage.add(batch.log.usage)
            blocks += batch.log.blocks
        }
        ledger.stored.reset(to: usage)
        ledger.setStoredNames(of: messages, andOf: blocks, in: commits.nextBatchID)
        commits.damage.logReplaced()
        values.logReplaced(through: commits.sequencer.last)
        for (id, loss) in losses.sorted(by: { $0.key < $1.key }) {
            guard let slot = durables.slot(of: id) else { continue }
            if let loss = durables[slot].lost(loss, generation: durables[slot].cursorGeneration) {
                sendGap(loss, .deleted, to: slot)
            }
        }
    }
}
