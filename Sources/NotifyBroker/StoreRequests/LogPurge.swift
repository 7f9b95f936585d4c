import NotifyCenter
import NotifyLog
import NotifyWire

/// A request to delete stored messages.
struct LogPurge: StoreTask {
    static let kind = StoreRequestKind.purge
    static let refusal = "not purged, or only in part"
    static let holdsConnection = false

    let purge: PurgeRequest
    /// Whether messages were deleted.
    var hasDeleted = false

    var byteCount: Int { 256 + purge.filter.byteCount }

    /// A purge waits until no message is moving between copies and dead letters: see ``Broker/isPurging``.
    func mayBegin(in broker: borrowing Broker) -> Bool {
        !broker.commits.pending.hasDeadLetters && !broker.storeRequests.isWorking(on: .deadLetters)
    }

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) -> StoreTaskStart {
        .asks(.purge(purge))
    }

    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress {
        broker.logPurge(now: now.monotonic)
        broker.purgeEnded()
        guard let request else { return .ended }
        switch answer {
        case .purged(let result):
            broker.storageChanged(now: now)
            broker.answer(
                request,
                Purged(
                    request: request.number, messages: result.messages, bytes: result.bytes,
                    subscriptions: UInt32(result.subscriptions.count), copies: result.copies))
        case .failed(let failure):
            let done = hasDeleted ? "purged in part" : "nothing was purged"
            broker.refuse(
                request,
                WireError(.storageFailed, "\(done), because the log can't be changed: \(failure.message)"))
        default: unexpected(answer)
        }
        return .ended
    }

    func abandoned(in broker: inout Broker) { broker.purgeEnded() }
}

/// Deleting stored messages on request.
extension Broker {
    /// Makes the request wait until the store has deleted the messages.
    ///
    /// - Throws: `forbidden` unless the client may manage every name that the patterns match, `limitReached` if another
    ///   purge of the connection is unanswered.
    mutating func purge(_ purge: Purge, _ slot: ConnectionSlot) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.search + purge.patterns.count * FairScheduler.Cost.pattern)
        guard !storeRequests.hasRequest(of: connections[slot].id, uid: connections[slot].uid, .purge) else {
            throw WireError(.limitReached, "another purge of this connection is unanswered")
        }
        let patterns = try patterns(of: purge.patterns)
        for pattern in patterns {
            scheduler.spend(access.policy.walkCost)
            try access.checkManage(pattern, connections[slot].identity)
        }
        let filter = SubscriptionFilter(patterns: patterns, object: nil)
        try request(LogPurge(purge: PurgeRequest(filter: filter, before: purge.before)), purge.request, slot)
    }

    /// Whether a purge waits or is under way. Until it ends, no copy becomes a dead letter and no dead letter becomes a
    /// copy, because a message that moves could survive the purge.
    var isPurging: Bool { !storeRequests.isIdle(.purge) }

    /// Continues the work that has waited for the end of the purge.
    fileprivate mutating func purgeEnded() {
        guard !isPurging else { return }
        durables.redeliveryReads.retry()
        actions.append(.scheduleTick)
    }
}
