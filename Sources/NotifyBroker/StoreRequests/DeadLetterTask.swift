import Algorithms
import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// A request to deliver dead letters again, or to delete them. Reads pages of the log, in turn with the other purposes
/// of ``PageReads``.
struct DeadLetterTask: StoreTask {
    static let kind = StoreRequestKind.deadLetters
    static let refusal = "not handled, or only in part"
    static let holdsConnection = false

    let uid: UInt32
    let action: DeadLetters.Action
    let filter: SubscriptionFilter
    /// The sequences of the dead letters, ascending; empty for all.
    let sequences: [UInt64]
    /// The last sequence to read.
    let last: UInt64
    /// The sequence after which to read.
    var after: UInt64
    /// The number of dead letters that were delivered again or deleted.
    var done: UInt64 = 0
    /// The number of dead letters that stay, because their subscription could not take the message.
    var kept: UInt64 = 0
    /// Whether the next page must be requested.
    var needsPage = true

    var awaitsAnswer: Bool { !needsPage }
    var byteCount: Int { 256 + filter.byteCount + sequences.count * MemoryLayout<UInt64>.stride }

    func mayBegin(in broker: borrowing Broker) -> Bool { !broker.isPurging }

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) -> StoreTaskStart {
        broker.actions.append(.scheduleTick)
        return .waits
    }

    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress { unexpected(answer) }

    func contains(_ sequence: UInt64) -> Bool {
        if sequences.isEmpty { return true }
        let index = sequences.partitioningIndex { $0 >= sequence }
        return index < sequences.count && sequences[index] == sequence
    }
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
        guard !storeRequests.hasRequest(of: connections[slot].id, uid: connections[slot].uid, .deadLetters) else {
            throw WireError(.limitReached, "another request for dead letters of this connection is unanswered")
        }
        if !letters.durableName.isEmpty { try Limits.validateSubscriptionName(letters.durableName) }
        let filter = SubscriptionFilter(
            patterns: try patterns(of: [ReservedNames.deadLetters(of: uid)]),
            object: letters.durableName.isEmpty ? nil : letters.durableName)
        let task = DeadLetterTask(
            uid: uid, action: letters.action, filter: filter, sequences: letters.sequences,
            last: letters.sequences.last ?? commits.persistedThrough,
            after: max(letters.sequences.first ?? 1, 1) - 1)
        try request(task, letters.request, slot)
    }

    /// The next page of the current request; nil if there is no request, or if it needs no page now.
    mutating func nextDeadLettersPage() -> PageRequest? {
        guard let task = storeRequests.current(DeadLetterTask.self), task.needsPage else { return nil }
        storeRequests.updateCurrent { (task: inout DeadLetterTask) in task.needsPage = false }
        // No rights are needed: the client may manage the owner's subscriptions, and receives none of the messages.
        let access = ReadAccess.unrestricted(access.policy)
        return PageRequest(
            for: .deadLetters, filter: task.filter, access: access, after: task.after, through: task.last,
            maximumMessages: Self.messagesPerPage)
    }

    mutating func deadLettersRead(_ page: Page, now: BrokerTime) {
        actions.append(.scheduleTick)
        guard let task = storeRequests.current(DeadLetterTask.self) else {
            _ = storeRequests.finish(.deadLetters)
            return
        }
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            finish(failure.readError)
        case .success(let content):
            scheduler.charge(
                FairScheduler.Cost.trace + content.block.frames.readableBytes >> FairScheduler.Cost.bytesShift,
                to: task.uid)
            var work = DeadLetterWork(through: content.scannedThrough)
            for entry in content.block.entries where task.contains(entry.sequence) {
                content.block.withMessage(entry) { letter in
                    if task.action == .purge || copy(letter, of: task, &work, now: now) {
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
    /// - Returns: False if the durable subscription can't take the message: for example, it was removed, has no room,
    ///   or does not match the message any more.
    private mutating func copy(
        _ letter: Delivery, of task: DeadLetterTask, _ work: inout DeadLetterWork, now: BrokerTime
    ) -> Bool {
        let name = String(decoding: letter.parts.object, as: UTF8.self)
        guard let slot = durables.slot(of: DurableKey(uid: task.uid, name: name)),
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
            durables.redeliveryReads.wake(slot)
        }
        actions.append(.scheduleTick)
        guard let request = storeRequests.finish(.deadLetters), !request.isAbandoned,
            var task = request.task as? DeadLetterTask
        else { return }
        task.done += UInt64(work.deleted.count)
        task.kept += work.kept
        task.after = work.through
        guard task.after >= task.last || task.after >= commits.persistedThrough else {
            task.needsPage = true
            return storeRequests.append(StoreRequest(id: request.id, charge: request.charge, task: task))
        }
        ledger.release(request.charge)
        answer(request.id, DeadLettersDone(request: request.id.number, messages: task.done, kept: task.kept))
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
        guard let request = storeRequests.finish(.deadLetters), !request.isAbandoned,
            let task = request.task as? DeadLetterTask
        else { return }
        ledger.release(request.charge)
        let done = task.done == 0 ? "nothing was changed" : "\(task.done) dead letters were handled"
        refuse(
            request.id,
            WireError(error.code, "\(done) before this failure: \(error.message)"))
    }
}
