package import NotifyLog
package import NotifyWire

extension Broker {
    /// A commit or page that takes longer than this means trouble with the disk.
    private static var longestSilence: Duration { .seconds(10) }

    /// Hands what has gathered to the store, if it is free and there is reason to.
    mutating func commitIfDue(now: Moment) {
        guard running == nil else { return }
        let isDue = commitDeadline.map { $0 <= now.monotonic } ?? false
        var reservation = storageProblem == nil || isDue ? sequencer.wantedReservation : nil
        // While storage fails, each retry writes something, so that it is seen when it works again.
        if isDue, storageProblem != nil { reservation = reservation ?? sequencer.mark }
        guard pending.isWanted || reservation != nil || (isDue && !dirtyReaders.isEmpty) else {
            if isDue { commitDeadline = nil }
            return
        }
        _ = pending.cut()
        let log = pending
        pending = PendingLog()
        let batch = RunningBatch(
            id: nextBatchID, log: log, readers: dirtyReaders, reserveThrough: reservation, started: now.monotonic)
        let updates = dirtyReaders.sorted().compactMap { index -> DurableChange? in
            readers[index].state == .removing
                ? nil : .update(id: readers[index].id, readers[index].progress)
        }
        dirtyReaders = []
        commitDeadline = nil
        nextBatchID += 1
        if reservation != nil { sequencer.reservationBegan() }
        actions.append(
            .commit(
                CommitBatch(
                    id: batch.id, blocks: log.sealed.map(\.block), changes: log.changes + updates,
                    reserveThrough: reservation, isSynced: log.isSynced)))
        running = batch
    }

    /// The store is done with a batch.
    package mutating func committed(_ outcome: CommitOutcome, now: Moment) {
        guard let batch = running, batch.id == outcome.batchID else { return }
        running = nil
        statistics.store = outcome.statistics
        switch outcome.result {
        case .success: succeeded(batch)
        case .failure(let failure): failed(batch, failure, now: now)
        }
        for slot in waitingForLog {
            resume(slot, .logBehind)
        }
        waitingForLog = []
    }

    private mutating func succeeded(_ batch: RunningBatch) {
        storageWorks()
        if let mark = batch.reserveThrough { sequencer.reservationEnded(through: mark, succeeded: true) }
        statistics.stored += UInt64(batch.messageCount)
        for part in batch.log.sealed {
            handToLiveReaders(part)
            ring.append(part.block)
        }
        persistedThrough = batch.lastSequence ?? persistedThrough
        for waiter in batch.log.waiters where waiter.wantsReceipt && connections.contains(waiter.connection) {
            let slot = Int(waiter.connection.slot)
            connections[slot].unreceiptedPosts -= 1
            answer(slot, receipt: waiter.receipt)
        }
        for continuation in batch.log.continuations {
            switch continuation {
            case .attached(let index, let attachment): attachCommitted(index, attachment)
            case .detached(let connection, let detached):
                if connections.contains(connection) { answer(Int(connection.slot), detached) }
            case .removed(let id, let connection, let request):
                // It is gone already where its creation failed meanwhile.
                if let index = readersByID[id] { dropReader(index) }
                if connections.contains(connection) { answer(Int(connection.slot), Removed(request: request)) }
            }
        }
    }

    /// Nothing of the batch was kept: whoever waits for it is told, and progress is tried again.
    private mutating func failed(_ batch: RunningBatch, _ failure: StorageFailure, now: Moment) {
        if let mark = batch.reserveThrough { sequencer.reservationEnded(through: mark, succeeded: false) }
        storageFailed(failure, now: now)
        dirtyReaders.formUnion(batch.readers.filter { readers[$0].state != .removing })
        let error = failure.wireError
        for waiter in batch.log.waiters where connections.contains(waiter.connection) {
            let slot = Int(waiter.connection.slot)
            if waiter.wantsReceipt { connections[slot].unreceiptedPosts -= 1 }
            refuse(slot, request: waiter.receipt.request, error)
        }
        for continuation in batch.log.continuations {
            switch continuation {
            case .attached(let index, let attachment): attachFailed(index, attachment, error)
            case .detached(let connection, let detached):
                guard connections.contains(connection) else { continue }
                refuse(
                    Int(connection.slot), request: detached.request, error, subscription: detached.subscription)
            case .removed(let id, let connection, let request):
                if let index = readersByID[id] {
                    readers[index].removalFailed()
                    markDirty(index)
                }
                if connections.contains(connection) { refuse(Int(connection.slot), request: request, error) }
            }
        }
    }

    // MARK: The store's health

    mutating func storageFailed(_ failure: StorageFailure, now: Moment) {
        commitDeadline = now.monotonic + configuration.storageRetryDelay
        setStorageProblem(failure.message)
    }

    private mutating func storageWorks() {
        setStorageProblem(nil)
        readersToRead.formUnion(readersToRetry)
        readersToRetry = []
    }

    private mutating func setStorageProblem(_ problem: String?) {
        guard storageProblem != problem else { return }
        storageProblem = problem
        actions.append(.storageHealthChanged(problem: problem))
    }

    /// When a store that does not answer is taken for a sick one.
    var silenceDeadline: Duration? {
        guard storageProblem == nil, let started = [running?.started, pageQueue.started].compactMap(\.self).min()
        else { return nil }
        return started + Self.longestSilence
    }

    mutating func noteSilence(now: Moment) {
        guard let deadline = silenceDeadline, deadline <= now.monotonic else { return }
        setStorageProblem("the disk has not answered for \(Self.longestSilence)")
        // Where only a page is late, a commit must show that it works again.
        commitDeadline = commitDeadline ?? now.monotonic + configuration.storageRetryDelay
    }
}

extension StorageFailure {
    fileprivate var wireError: WireError {
        switch kind {
        case .full: WireError(.logFull, "not stored: \(message)")
        case .inputOutput: WireError(.storageFailed, "not stored: \(message)")
        }
    }
}
