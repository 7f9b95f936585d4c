import NotifyCenter
import NotifyLog
import NotifyWire

extension Broker {
    /// Takes up a durable subscription that the log knows. One that was held when the last run died may have had
    /// everything seen.
    mutating func recover(_ record: DurableRecord) {
        var record = record
        let wasHeld = record.progress.isAttached
        if wasHeld {
            record.progress.seenThrough = sequencer.last
            record.progress.isAttached = false
        }
        let index = addReader(record)
        accounts[record.filter.uid].durableSubscriptions += 1
        if wasHeld { dirtyReaders.insert(index) }
    }

    /// Creates a durable subscription, or attaches to one. The answer follows the commit.
    mutating func subscribeDurable(
        _ subscribe: Subscribe, _ filter: SubscriptionFilter, _ slot: Int
    ) throws(WireError) {
        try Limits.validateSubscriptionName(subscribe.durableName)
        guard subscribe.window <= Limits.maximumWindow else {
            throw WireError(
                .limitReached, "a window of \(subscribe.window) is over the limit of \(Limits.maximumWindow)")
        }
        let existing = readerSlots[DurableKey(uid: filter.uid, name: subscribe.durableName)]
        let attachment = attachment(for: subscribe, slot, isResumed: existing != nil)
        let index: Int
        if let existing {
            switch readers[existing].attachRequested(by: attachment.instance, filter: filter) {
            case .free: break
            case .takeOver(let earlier): takeOver(existing, from: earlier)
            case .refused(let error, let holderPID):
                refuse(slot, request: subscribe.request, error, detail: UInt64(holderPID))
                return
            }
            index = existing
            markDirty(index)
        } else {
            index = try create(subscribe, filter)
        }
        readers[index].attached(attachment, credit: subscribe.credit)
        heldReaders += 1
        connections[slot].subscriptions[subscribe.subscription] = .durable(reader: index)
        connections[slot].unansweredAttaches.insert(subscribe.request)
        // The hold must be on disk before anything is handed over: after a loss of power, too, what may have been
        // seen must be known.
        pending.isSynced = true
        pending.isWanted = true
        pending.continuations.append(.attached(reader: index, attachment))
    }

    private func attachment(for subscribe: Subscribe, _ slot: Int, isResumed: Bool) -> Attachment {
        Attachment(
            connection: connections[slot].id, number: subscribe.subscription, instance: connections[slot].instance,
            pid: connections[slot].peer.pid, request: subscribe.request, isResumed: isResumed,
            window: Int(subscribe.window == 0 ? configuration.defaultWindow : subscribe.window))
    }

    private mutating func create(_ subscribe: Subscribe, _ filter: SubscriptionFilter) throws(WireError) -> Int {
        try accounts.take(
            \.durableSubscriptions, of: filter.uid, limit: configuration.durableSubscriptionsPerUser,
            named: "durable subscriptions")
        let cursor: UInt64 =
            switch subscribe.start {
            case .now: sequencer.last
            case .oldest: 0
            }
        var record = DurableRecord(
            id: nextReaderID, filter: filter, name: subscribe.durableName,
            progress: DurableProgress(cursor: cursor, seenThrough: 0))
        nextReaderID += 1
        let index = addReader(record)
        record.progress.isAttached = true
        pending.changes.append(.create(record))
        return index
    }

    private mutating func addReader(_ record: DurableRecord) -> Int {
        let index = freeReaders.popLast() ?? readers.count
        let registration = center.add(
            patterns: record.filter.patterns, object: record.filter.object, slot: ~Int32(index))
        let reader = DurableReader(record, registration: registration)
        if index == readers.count {
            readers.append(reader)
            openRuns.append(nil)
        } else {
            readers[index] = reader
        }
        readerSlots[DurableKey(uid: record.filter.uid, name: record.name)] = index
        readersByID[record.id] = index
        return index
    }

    /// The same client is back on another connection: the earlier one loses its hold.
    private mutating func takeOver(_ index: Int, from earlier: Attachment) {
        detach(index)
        guard connections.contains(earlier.connection) else { return }
        let slot = Int(earlier.connection.slot)
        connections[slot].subscriptions[earlier.number] = nil
        refuse(
            slot, request: isUnanswered(earlier) ? earlier.request : 0,
            WireError(.takenOver, "another connection of this client took over '\(readers[index].name)'"),
            subscription: earlier.number)
    }

    // MARK: Outcomes

    /// A request is answered also where the client has left since without awaiting that.
    mutating func attachCommitted(_ index: Int, _ attachment: Attachment) {
        if readers[index].attachmentCommitted(attachment) { readersToRead.insert(index) }
        guard isUnanswered(attachment) else { return }
        answer(
            Int(attachment.connection.slot),
            Subscribed(
                request: attachment.request, subscription: attachment.number,
                sequence: readers[index].progress.cursor, isResumed: attachment.isResumed))
    }

    mutating func attachFailed(_ index: Int, _ attachment: Attachment, _ error: WireError) {
        if attachment.isResumed {
            if readers[index].attachment == attachment { endHold(index) }
        } else {
            // It was never created, for nobody who may have come to it since either.
            endHold(index)
            for case .attached(index, let later) in pending.continuations {
                refuseAttach(later, error)
            }
            dropReader(index)
        }
        refuseAttach(attachment, error)
    }

    private mutating func endHold(_ index: Int) {
        guard let attachment = readers[index].attachment else { return }
        detach(index)
        connections[Int(attachment.connection.slot)].subscriptions[attachment.number] = nil
    }

    private mutating func refuseAttach(_ attachment: Attachment, _ error: WireError) {
        guard isUnanswered(attachment) else { return }
        refuse(
            Int(attachment.connection.slot), request: attachment.request, error, subscription: attachment.number)
    }

    /// Whether the request to attach waits for its answer, which the caller gives now.
    private mutating func isUnanswered(_ attachment: Attachment) -> Bool {
        connections.contains(attachment.connection)
            && connections[Int(attachment.connection.slot)].unansweredAttaches.remove(attachment.request) != nil
    }

    // MARK: Leaving

    /// Ends whatever hold there is. What was handed over and not acknowledged comes again.
    mutating func detach(_ index: Int) {
        if readers[index].isLive { readers[index].passed(through: persistedThrough) }
        if readers[index].attachment != nil { heldReaders -= 1 }
        readers[index].detached()
        liveReaders.remove(index)
        readersToRead.remove(index)
        readersToRetry.remove(index)
        markDirty(index)
    }

    /// The reader is gone from the log.
    mutating func dropReader(_ index: Int) {
        let reader = readers[index]
        _ = center.remove(reader.registration)
        readerSlots[DurableKey(uid: reader.filter.uid, name: reader.name)] = nil
        readersByID[reader.id] = nil
        dirtyReaders.remove(index)
        accounts[reader.filter.uid].durableSubscriptions -= 1
        readers[index].dropped()
        freeReaders.append(index)
    }

    /// Its progress joins the next batch. Somebody who waits for that says so himself.
    mutating func markDirty(_ index: Int) {
        dirtyReaders.insert(index)
    }
}
