import NotifyCenter
import NotifyLog
import NotifyWire

/// A request to delete stored messages that the store has not answered yet.
struct PendingPurge: StoreRequest {
    let connection: ConnectionID
    let request: UInt64
    let purge: PurgeRequest
    /// Whether messages were deleted.
    var hasDeleted = false

    /// The memory of the request, in bytes.
    var byteCount: Int { 256 + purge.filter.byteCount }
}

/// Deleting stored messages on request.
extension Broker {
    /// Makes the request wait until the store has deleted the messages.
    ///
    /// - Throws: `forbidden` if the client may not manage every name that the patterns match, `limitReached` if another
    ///   purge of the connection is unanswered.
    mutating func purge(_ purge: Purge, _ slot: ConnectionSlot) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.search + purge.patterns.count * FairScheduler.Cost.pattern)
        guard !purges.hasRequest(of: connections[slot].id) else {
            throw WireError(.limitReached, "another purge of this connection is unanswered")
        }
        let patterns = try patterns(of: purge.patterns)
        for pattern in patterns {
            scheduler.spend(access.policy.walkCost)
            try access.checkManage(pattern, connections[slot].identity)
        }
        let pending = PendingPurge(
            connection: connections[slot].id, request: purge.request,
            purge: PurgeRequest(
                filter: SubscriptionFilter(patterns: patterns, object: nil), before: purge.before))
        try charge(pending)
        purges.append(pending)
        actions.append(.scheduleTick)
    }

    /// Asks the store for the next purge, unless it is working on one. Batches that move messages to or from dead
    /// letters are passed to the store before: see ``isPurging``.
    mutating func requestPurge(now: BrokerTime) {
        guard !commits.pending.hasDeadLetters, deadLetterRequests.started == nil,
            let pending = purges.begin(now: now)
        else { return }
        actions.append(.store(.purge(pending.purge), .request(.purge)))
    }

    /// Whether a purge waits or is under way. Until it ends, no copy becomes a dead letter, and no dead letter a copy:
    /// a message that moves from one to the other could survive the purge.
    var isPurging: Bool { !purges.isIdle }

    /// Continues the work that waited for the end of purges.
    private mutating func purgeEnded() {
        guard !isPurging else { return }
        redeliveryReads.retry()
        actions.append(.scheduleTick)
    }

    /// Called when the store has ended a purge.
    mutating func purged(_ result: Result<PurgeResult, StorageFailure>, now: BrokerTime) {
        let pending = purges.finish()
        logPurge(now: now.monotonic)
        actions.append(.scheduleTick)
        purgeEnded()
        if case .failure(let failure) = result { storageFailed(failure, now: now) }
        guard let pending else { return }
        uncharge(pending)
        let slot = pending.connection.slot
        switch result {
        case .success(let result):
            storageChanged(now: now)
            answer(
                slot,
                Purged(
                    request: pending.request, messages: result.messages, bytes: result.bytes,
                    subscriptions: UInt32(result.subscriptions.count),
                    copies: result.copies))
        case .failure(let failure):
            refuse(
                slot, request: pending.request,
                WireError(
                    .storageFailed,
                    "\(pending.hasDeleted ? "purged in part" : "nothing was purged"), because the log can't be changed: "
                        + failure.message))
        }
    }

    /// Drops the request of a connection that ends. A purge that has begun continues.
    mutating func endPurge(of slot: ConnectionSlot) {
        guard let pending = purges.remove(connections[slot].id) else { return }
        uncharge(pending)
        purgeEnded()
    }
}
