import Algorithms
import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// A request to deliver dead letters again, or to delete them, that is not answered yet.
struct DeadLetterRequest: ChargedRequest {
    let connection: ConnectionID
    let request: UInt64
    let uid: UInt32
    let action: DeadLetters.Action
    let filter: SubscriptionFilter
    /// The sequences of the dead letters, ascending; empty for all.
    let sequences: [UInt64]
    /// The last sequence to read.
    let last: UInt64
    /// The sequence after which to read.
    var after: UInt64
    var done: UInt64 = 0
    var kept: UInt64 = 0

    /// The memory of the request, in bytes.
    var byteCount: Int { 256 + filter.byteCount + sequences.count * MemoryLayout<UInt64>.stride }

    func contains(_ sequence: UInt64) -> Bool {
        if sequences.isEmpty { return true }
        let index = sequences.partitioningIndex { $0 >= sequence }
        return index < sequences.count && sequences[index] == sequence
    }
}

/// The part of a request that a batch contains.
struct DeadLetterWork {
    /// The dead letters that the batch deletes.
    var deleted: [UInt64] = []
    /// The messages that the batch copies, each for its durable subscription.
    var copied: [(id: DurableID, sequence: UInt64)] = []
    var kept: UInt64 = 0
    /// The last sequence that was read.
    var through: UInt64 = 0
}

/// Delivering dead letters again, and deleting them, in pages of the log. Each page is one batch, so that a message is
/// either a dead letter or among the redeliveries of its subscription.
extension Broker {
    private static let messagesPerPage = 256

    /// Makes the request wait for the store.
    ///
    /// - Throws: `forbidden` if the client may not manage the subscriptions of the user, `limitReached` if another
    ///   request of the connection is unanswered.
    mutating func work(on letters: DeadLetters, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.search)
        let uid = letters.uid == Remove.ownUID ? connections[slot].uid : letters.uid
        try access.checkManage(uid: uid, connections[slot].identity)
        guard !deadLetterRequests.hasRequest(of: connections[slot].id) else {
            throw WireError(.limitReached, "another request for dead letters of this connection is unanswered")
        }
        if !letters.durableName.isEmpty { try Limits.validateSubscriptionName(letters.durableName) }
        let filter = SubscriptionFilter(
            patterns: try patterns(of: [ReservedNames.deadLetters(of: uid)]),
            object: letters.durableName.isEmpty ? nil : letters.durableName)
        let request = DeadLetterRequest(
            connection: connections[slot].id, request: letters.request, uid: uid, action: letters.action,
            filter: filter, sequences: letters.sequences, last: letters.sequences.last ?? commits.persistedThrough,
            after: max(letters.sequences.first ?? 1, 1) - 1)
        try charge(request)
        deadLetterRequests.append(request)
        actions.append(.scheduleTick)
    }

    /// Begins the next request, and returns the request of its page; nil if none waits, the store works on another
    /// one, or a purge is under way.
    mutating func nextDeadLettersPage(now: BrokerTime) -> PageRequest? {
        guard !isPurging, let request = deadLetterRequests.begin(now: now) else { return nil }
        // The client may manage the owner's subscriptions, and receives none of the messages.
        let access = ReadAccess.unrestricted(access.policy)
        return PageRequest(
            for: .deadLetters, filter: request.filter, access: access, after: request.after, through: request.last,
            maximumMessages: Self.messagesPerPage)
    }

    mutating func deadLettersRead(_ page: Page, now: BrokerTime) {
        actions.append(.scheduleTick)
        guard let request = deadLetterRequests.current else {
            _ = deadLetterRequests.finish()
            return
        }
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            finish(failure.readError)
        case .success(let content):
            scheduler.charge(
                FairScheduler.Cost.trace + content.block.frames.readableBytes >> FairScheduler.Cost.bytesShift,
                to: request.uid)
            var work = DeadLetterWork(through: content.scannedThrough)
            for entry in content.block.entries where request.contains(entry.sequence) {
                content.block.withMessage(entry) { letter in
                    if request.action == .purge || copy(letter, of: request, &work, now: now) {
                        work.deleted.append(entry.sequence)
                    } else {
                        work.kept += 1
                    }
                }
            }
            guard !work.deleted.isEmpty else { return deadLettersDone(work) }
            commits.append(.delete(sequences: work.deleted), then: .deadLetters(work))
        }
    }

    /// Adds a copy of a dead letter's message to the next batch.
    ///
    /// - Returns: False if its durable subscription is not in the log, has no room, or does not match the message any
    ///   more.
    private mutating func copy(
        _ letter: Delivery, of request: DeadLetterRequest, _ work: inout DeadLetterWork, now: BrokerTime
    ) -> Bool {
        let name = String(decoding: letter.parts.object, as: UTF8.self)
        guard let slot = durables.slot(of: DurableKey(uid: request.uid, name: name)),
            durables[slot].isCreated, durables[slot].state != .removing, durables[slot].pendingChange == nil,
            durables[slot].hasRoomForRetry, ownerHasRoomForUnread(slot)
        else { return false }
        var frame = ByteBuffer()
        let original: UInt64?? = DeadLetterHeaders.withOriginal(of: letter) { stamp, parts in
            guard isWanted(parts, by: slot) else { return nil }
            Delivery.append(stamp, parts, to: &frame)
            return stamp.sequence
        }
        guard let sequence = original ?? nil, !durables[slot].isUnfinished(sequence) else { return false }
        let id = durables[slot].id
        let row = durables[slot].addCopied(sequence, bytes: UInt32(frame.readableBytes))
        commits.append(.keep(id: id, row, reason: "", frame: frame))
        work.copied.append((id, sequence))
        chargeDurable(slot)
        return true
    }

    /// Continues a request after a batch, or answers it.
    mutating func deadLettersDone(_ work: DeadLetterWork) {
        for (id, sequence) in work.copied {
            guard let slot = durables.slot(of: id) else { continue }
            durables[slot].saved([sequence])
            chargeDurable(slot)
            redeliveryReads.wake(slot)
        }
        actions.append(.scheduleTick)
        guard var request = deadLetterRequests.finish() else { return }
        request.done += UInt64(work.deleted.count)
        request.kept += work.kept
        request.after = work.through
        guard request.after >= request.last || request.after >= commits.persistedThrough else {
            return deadLetterRequests.append(request)
        }
        uncharge(request)
        answer(
            request.connection.slot,
            DeadLettersDone(request: request.request, messages: request.done, kept: request.kept))
    }

    /// Undoes the part of a request whose batch failed, and refuses the request.
    mutating func deadLettersFailed(_ work: DeadLetterWork, _ error: WireError) {
        for (id, sequence) in work.copied {
            guard let slot = durables.slot(of: id) else { continue }
            durables[slot].discard(sequence)
            chargeDurable(slot)
        }
        finish(error)
    }

    private mutating func finish(_ error: WireError) {
        guard let request = deadLetterRequests.finish() else { return }
        uncharge(request)
        let done = request.done == 0 ? "nothing was changed" : "\(request.done) dead letters were handled"
        refuse(
            request.connection.slot, request: request.request,
            WireError(error.code, "\(done), then the log could not be read or changed: \(error.message)"))
    }

    /// Refuses all requests, because the daemon stops.
    mutating func refuseDeadLetters() {
        for request in deadLetterRequests.removeAll() {
            uncharge(request)
            refuse(
                request.connection.slot, request: request.request,
                WireError(.closing, "not handled, or in part: the daemon is shutting down"))
        }
    }

    /// Drops the request of a connection that ends. The batch that is being stored stays.
    mutating func endDeadLetters(of slot: ConnectionSlot) {
        if let request = deadLetterRequests.remove(connections[slot].id) { uncharge(request) }
    }
}
