import NotifyCenter
package import NotifyLog
import NotifyWire

/// Redelivering messages from their copies in the log.
extension Broker {
    /// The maximum number of copies that are read at a time.
    private static let readMessages = 256
    /// The maximum number of bytes that are read at a time. The first message may exceed it.
    private static let readBytes = 256 << 10
    /// The maximum number of subscriptions that are examined in one turn of the event loop.
    private static let visitsPerTurn = 64

    /// Handles passed times of durable subscriptions: deadlines, and delays between deliveries.
    ///
    /// If there is much to do, the rest is left for the next turn of the event loop.
    mutating func timeOfDurablesPassed(now: BrokerTime) {
        var work = 0
        while work < FairScheduler.unitsPerTurn, !durables.unsavedRedeliveries.areMany,
            let slot = durables.takeTimer(now: now.monotonic)
        {
            let before = durables[slot].redeliveryWork
            durables[slot].timePassed(now: now)
            work += FairScheduler.Cost.frame + durables[slot].redeliveryWork - before
            durables.noteProgress(slot)
            answersChanged(slot, now: now)
        }
        scheduler.spend(work)
    }

    /// Continues a subscription after the commit of copies of its messages.
    mutating func wakeRedeliveries(of id: DurableID, now: BrokerTime) {
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].rowsSaved(now: now)
        if durables[slot].hasUnsavedRedeliveries { durables.noteProgress(slot) }
        answersChanged(slot, now: now)
    }

    /// Requests copies of messages from the store, if it is reading none and a subscription needs some.
    mutating func requestRedeliveries(now: BrokerTime) {
        guard connections.drain == .notBegun else { return }
        for _ in 0..<Self.visitsPerTurn {
            guard let slot = durables.redeliveryReads.next() else { return }
            guard durables[slot].state != .removing else { continue }
            if durables[slot].areRightsOutdated {
                forgetRights(of: slot)
                break
            }
            if durables[slot].maximumCopyBytes < Redelivery.maximumBytes {
                limitCopies(of: slot)
                if let reader = durables[slot].reader {
                    pages.readers.wake(reader)
                    // The readers of this turn have already continued, so another tick is needed.
                    actions.append(.scheduleTick)
                }
            }
            guard let read = nextRead(for: slot) else { continue }
            durables.redeliveryReads.begin(read, now: now.monotonic)
            actions.append(
                .readRedeliveries(
                    RedeliveryRequest(subscription: durables[slot].id, sequences: read.sequences)))
        }
        actions.append(.scheduleTick)
    }

    /// Forgets the evaluated rights to messages, because the policy or the identities have changed. This visits all
    /// redeliveries of the subscription, so no further subscription is examined in this turn of the event loop.
    mutating func forgetRights(of slot: DurableSlot) {
        let work = durables[slot].redeliveryWork
        durables[slot].forgetRights()
        scheduler.spend(durables[slot].redeliveryWork - work)
        durables.redeliveryReads.wake(slot, isNeeded: durables[slot].mayNeedCopies)
    }

    /// The next copies to read for a subscription. Deliveries and dead letters take turns.
    private mutating func nextRead(for slot: DurableSlot) -> RedeliveryReads.Read? {
        switch durables.redeliveryReads.lastPurpose {
        case .delivery, .rights: nextDeadLetters(of: slot) ?? nextDelivery(of: slot)
        case .deadLetters: nextDelivery(of: slot) ?? nextDeadLetters(of: slot)
        }
    }

    private mutating func nextDelivery(of slot: DurableSlot) -> RedeliveryReads.Read? {
        guard durables[slot].hasMembers else { return nextEvaluation(of: slot) }
        let room = durables[slot].redeliveryRoom
        guard room > 0, nextMember(of: slot) != nil else { return nil }
        guard let rights = durables[slot].dueRights(intersecting: rightsOfMembersWithRoom(slot)) else {
            withholdRedeliveries(of: slot)
            return nil
        }
        durables[slot].areRedeliveriesWithheld = false
        let sequences = durables[slot].takeDue(
            rights, maximumCount: min(room, Self.readMessages), maximumBytes: Self.readBytes)
        return sequences.isEmpty ? nil : .init(slot: slot, purpose: .delivery, sequences: sequences)
    }

    /// The next copies to read while no client is attached: to drop messages that no identity may receive any more, and
    /// to count withheld ones. Nil while a change is being committed: messages must not be dropped because of new
    /// patterns before these are in effect.
    private mutating func nextEvaluation(of slot: DurableSlot) -> RedeliveryReads.Read? {
        guard !durables[slot].isChanging else { return nil }
        let patterns = durables[slot].filter.patterns
        guard durables[slot].hasUnevaluatedDue, !patterns.allSatisfy(access.policy.isOpen) else { return nil }
        let sequences = durables[slot].takeDue(
            maximumCount: Self.readMessages, maximumBytes: Self.readBytes)
        return sequences.isEmpty ? nil : .init(slot: slot, purpose: .rights, sequences: sequences)
    }

    private mutating func nextDeadLetters(of slot: DurableSlot) -> RedeliveryReads.Read? {
        guard durables[slot].hasDead, !durables.redeliveryReads.hasFailed(slot) else { return nil }
        guard hasRoomForDeadLetters(slot) else {
            durables.redeliveryReads.failed(slot)
            return nil
        }
        let sequences = durables[slot].takeDead(
            maximumCount: Self.readMessages, maximumBytes: Self.readBytes)
        return sequences.isEmpty ? nil : .init(slot: slot, purpose: .deadLetters, sequences: sequences)
    }

    /// Must be called when the store has read copies of messages.
    package mutating func redeliveriesRead(_ page: RedeliveryPage, now: BrokerTime) {
        statistics.store = page.statistics
        durables.setTime(now)
        actions.append(.scheduleTick)
        guard let read = durables.redeliveryReads.finish(), durables.slot(of: page.subscription) == read.slot else {
            return
        }
        let slot = read.slot
        switch page.result {
        case .failure(let failure):
            giveUp(read)
            durables.redeliveryReads.failed(slot)
            return storageFailed(failure, now: now)
        case .success(let content):
            switch read.purpose {
            case .delivery: redeliver(content.block, to: slot, now: now)
            case .rights: evaluateRights(to: content.block, of: slot, now: now)
            case .deadLetters: deadLetter(content, of: slot, now: now)
            }
            lost(content.missing, of: slot)
            limitWithheld(of: slot, now: now)
            // Messages that were read and not handled become due again, for example because no member had room for
            // them.
            durables[slot].notDelivered(read.sequences)
        }
        durables.noteProgress(slot)
        answersChanged(slot, now: now)
    }

    private mutating func giveUp(_ read: RedeliveryReads.Read) {
        switch read.purpose {
        case .delivery, .rights: durables[read.slot].notDelivered(read.sequences)
        case .deadLetters: durables[read.slot].notDeadLettered(read.sequences)
        }
    }

    private mutating func redeliver(_ block: LogBlock, to slot: DurableSlot, now: BrokerTime) {
        guard let reader = durables[slot].reader else { return }
        let source = egress.addSource(block.frames)
        var forbidden: [UInt64] = []
        for entry in block.entries {
            guard durables[slot].redeliveryRoom > 0, let candidate = nextMember(of: slot) else { break }
            let recipient = block.withMessage(entry) { message -> Recipient? in
                isSelected(message.parts, by: slot) ? self.recipient(of: message.parts, slot, candidate) : nil
            }
            let index: Int
            switch recipient {
            case .member(let member)?: index = member
            case .forbidden?:
                forbidden.append(entry.sequence)
                continue
            case .withheld(let rights)?:
                durables[slot].evaluated(entry.sequence, rights)
                continue
            case nil:
                durables[slot].removeRedelivery(entry.sequence)
                continue
            }
            let failures = durables[slot].failures(of: entry.sequence)
            guard let attachment = durables[slot].redeliver(entry.sequence, to: index, now: now.monotonic) else {
                continue
            }
            egress.extendRun(
                of: reader, with: OpenRun.Frames(entry), in: source,
                to: OpenRun.Destination(
                    connection: attachment.connection.slot, subscription: attachment.number, isRedelivery: true,
                    delivery: failures + 1))
        }
        closeRuns()
        drop(forbidden, of: slot, now: now)
    }

    private mutating func evaluateRights(to block: LogBlock, of slot: DurableSlot, now: BrokerTime) {
        // If a client has attached or is attaching since the copies were requested, the rights are not evaluated here,
        // because its identity may be a new one.
        guard !durables[slot].isChanging, !durables[slot].hasMembers else { return }
        var forbidden: [UInt64] = []
        for entry in block.entries {
            scheduler.spend(FairScheduler.Cost.frame)
            block.withMessage(entry) { message in
                if !isSelected(message.parts, by: slot) {
                    durables[slot].removeRedelivery(entry.sequence)
                } else if let rights = rights(to: message.parts, durables[slot]) {
                    durables[slot].evaluated(entry.sequence, rights, isSetAside: false)
                } else {
                    forbidden.append(entry.sequence)
                }
            }
        }
        drop(forbidden, of: slot, now: now)
    }

    /// Whether the subscription still gets a message. Its patterns, or the rights to the message, may have changed.
    func isWanted(_ message: MessageParts, by slot: DurableSlot) -> Bool {
        isSelected(message, by: slot) && mayReceive(message, durables[slot])
    }

    private func isSelected(_ message: MessageParts, by slot: DurableSlot) -> Bool {
        let filter = durables[slot].filter
        return filter.matches(name: message.name) && filter.object.map { $0.utf8.elementsEqual(message.object) } ?? true
    }

    /// Ends redeliveries that no identity of the subscription may receive any more. A gap reports the messages to a
    /// member now, or if there is none, to the next client that attaches.
    private mutating func drop(_ sequences: [UInt64], of slot: DurableSlot, now: BrokerTime) {
        // Messages in another state are left out: they were acknowledged while their copies were read.
        let sequences = sequences.filter { durables[slot].redeliveryState(of: $0) == .reading }
        guard let (loss, isReported) = removeRedeliveries(sequences, of: slot, .forbidden) else { return }
        if !isReported { logLoss(loss, of: durables[slot].id, .forbidden, now: now.monotonic) }
    }

    /// Removes messages that will not be delivered. A gap reports them to a member now, or if there is none, to the
    /// next client that attaches.
    ///
    /// - Returns: The messages, and whether a gap was sent for them; nil if there are no messages.
    private mutating func removeRedeliveries(
        _ sequences: [UInt64], of slot: DurableSlot, _ reason: Gap.Reason
    ) -> (loss: Loss, isReported: Bool)? {
        guard var loss = Loss(of: sequences) else { return nil }
        for sequence in sequences { durables[slot].removeRedelivery(sequence) }
        let isReported = durables[slot].hasCommittedMember
        if isReported { sendGap(loss, reason, to: slot) } else { loss = durables[slot].dropped(loss) }
        return (loss, isReported)
    }

    /// Lets first deliveries continue although redeliveries are due, because no member with room may receive the due
    /// ones.
    private mutating func withholdRedeliveries(of slot: DurableSlot) {
        guard durables[slot].dueCount > 0, !durables[slot].areRedeliveriesWithheld else { return }
        durables[slot].areRedeliveriesWithheld = true
        if let reader = durables[slot].reader {
            pages.readers.wake(reader)
            // The readers of this turn have already continued, so another tick is needed.
            actions.append(.scheduleTick)
        }
    }

    /// Handles messages whose copy is missing or damaged.
    private mutating func lost(_ missing: [UInt64], of slot: DurableSlot) {
        // A message without a redelivery is not lost: it was acknowledged or dropped, and its copy was deleted on
        // purpose.
        let sequences = missing.filter { durables[slot].redeliveryState(of: $0) != nil }
        guard let (loss, _) = removeRedeliveries(sequences, of: slot, .damaged) else { return }
        actions.append(
            .warn(
                "the log is damaged: \(loss.count) messages from sequence \(loss.first) to \(loss.last) were not "
                    + "delivered again to durable subscription '\(durables[slot].name)' of \(durables[slot].uid.userTitle)"
            ))
    }

    /// Ends redeliveries for which there is no copy, because the messages failed after the log had deleted them.
    mutating func notCopied(_ sequences: [UInt64], of id: DurableID) {
        guard let slot = durables.slot(of: id) else { return }
        let unreported = durables[slot].notCopied(sequences)
        durables.noteProgress(slot)
        chargeDurable(slot)
        if let loss = Loss(of: unreported, isUpperBound: true) { reportLoss(loss, of: slot) }
    }
}
