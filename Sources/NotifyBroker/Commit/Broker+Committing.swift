package import NotifyLog
import NotifyWire

/// Beginning batches, and handling their outcomes.
extension Broker {
    /// Passes the pending changes and messages to the store, if the store is free and a commit is due.
    mutating func beginCommit(now: BrokerTime) {
        guard var batch = Self.beginBatch(&commits, &durables, now: now.monotonic) else { return }
        batch.copyBytes = ledger.stored.copies
        let (changes, forgotten) = values.beginBatch(now: now.wallMicroseconds)
        if !changes.isEmpty || !forgotten.numbers.isEmpty {
            (batch.values, batch.forgottenValues) = (changes, forgotten)
            commits.began(changes)
        }
        actions.append(.commit(batch))
    }

    private static func beginBatch(
        _ commits: inout CommitPipeline, _ durables: inout DurableSubscriptions, now: Duration
    ) -> CommitBatch? {
        commits.beginBatch(
            hasProgress: durables.hasUnsavedProgress, hasRedeliveries: durables.unsavedRedeliveries.rows > 0, now: now
        ) { durables.takeProgress(now: now) }
    }

    /// Must be called when the store has finished a batch.
    package mutating func committed(_ outcome: CommitOutcome, now: BrokerTime) {
        guard let batch = commits.takeInFlight(outcome, now: now.monotonic) else { return }
        statistics.store = outcome.statistics
        durables.setTime(now)
        warnings.schedule(now: now.monotonic)
        release(batch.log.charges)
        switch outcome.result {
        case .success:
            for (id, sequences) in outcome.missingCopies.sorted(by: { $0.key < $1.key }) {
                notCopied(sequences, of: id)
            }
            succeeded(batch, outcome.remainingFailure, now: now)
        case .failure(let failure): failed(batch, failure, now: now)
        }
        resumePausedConnections()
    }

    /// Ends the charges of users for the content of a batch.
    private mutating func release(_ charges: [UInt32: Int]) {
        for (uid, bytes) in charges { ledger.change(.pendingBytes, by: -bytes, uid: uid) }
    }

    private mutating func succeeded(_ batch: InFlightBatch, _ remaining: StorageFailure?, now: BrokerTime) {
        if let remaining { storageFailed(remaining, now: now) } else { storageSucceeded() }
        statistics.stored += UInt64(batch.messageCount)
        for part in batch.log.sealed {
            deliverToLiveReaders(part)
            pages.readers.committed(part.block)
        }
        commits.persisted(batch)
        values.persisted(now: now.wallMicroseconds)
        if !batch.values.isEmpty, pages.values.atEndCount > 0 { wakeValueReads(batch) }
        durables.forgotten(batch.passedLosses)
        if !batch.redeliveries.isEmpty {
            durables.saved(batch.redeliveries)
            for id in batch.redeliveries.keys.sorted() { wakeRedeliveries(of: id, now: now) }
        }
        if batch.messageCount > 0 { pages.histories.committed() }
        recorder.monitors.committed(through: batch.lastSequence)
        for waiter in batch.log.waiters where waiter.wantsReceipt && connections.contains(waiter.connection) {
            connections[waiter.connection.slot].receiptResolved()
            answer(waiter.connection.slot, receipt: waiter.receipt)
        }
        for continuation in batch.log.continuations {
            switch continuation {
            case .attached(let id, let attachment): attachCommitted(id, attachment)
            case .identityKept(let id, let identity): identityKept(identity, of: id)
            case .created(let id, let connection, let request, let existed):
                created(id, connection: connection, request: request, existed: existed)
            case .detached(let connection, let detached):
                guard connections.contains(connection) else { continue }
                connections[connection.slot].answerResolved()
                answer(connection.slot, detached)
            case .removed(let id, let connection, let request):
                // The subscription does not exist if its creation failed after the removal was requested.
                if let slot = durables.slot(of: id) {
                    logRemoval(of: slot, by: connection)
                    removeDurable(slot)
                }
                guard connections.contains(connection) else { continue }
                connections[connection.slot].answerResolved()
                answer(connection.slot, Removed(request: request))
            case .changed(let id, let connection, let request):
                changeEnded(id, connection: connection, request: request, now: now)
            case .deadLettered(let id, let sequences): deadLettered(sequences, of: id, now: now)
            case .deadLetters(let work): deadLettersDone(work)
            case .expired(let id): expired(id)
            case .probed: answerProbes()
            case .valueRefused(let connection, let request, let current):
                refusePending(connection, request: request, .valueChanged(to: current), detail: current)
            case .valueCleared(let connection, let cleared):
                guard connections.contains(connection) else { continue }
                connections[connection.slot].answerResolved()
                answer(connection.slot, cleared)
            case .will: break
            case .clearing(let read): clearingCommitted(read)
            }
        }
    }

    /// Handles a failed batch: refuses every request in it, subtracts its messages from the stored bytes of their
    /// users, and marks its progress for the next batch.
    private mutating func failed(_ batch: InFlightBatch, _ failure: StorageFailure, now: BrokerTime) {
        storageFailed(failure, now: now)
        ledger.stored.remove(batch.log.usage.byUser)
        pages.histories.committed()
        durables.progressFailed(batch.progressOf)
        durables.saveFailed(batch.redeliveries)
        durables.saveFailed(batch.losses)
        let error = failure.wireError
        charge(values.failed())
        recorder.monitors.committed(through: batch.lastSequence, error: error)
        for waiter in batch.log.waiters where connections.contains(waiter.connection) {
            if waiter.wantsReceipt { connections[waiter.connection.slot].receiptResolved() }
            refuse(waiter.connection.slot, request: waiter.receipt.request, error)
        }
        for continuation in batch.log.continuations {
            switch continuation {
            case .attached(let id, let attachment): attachFailed(id, attachment, error, now: now)
            case .identityKept(_, let identity): releaseIdentity(identity)
            case .created(let id, let connection, let request, let existed):
                creationFailed(id, connection: connection, request: request, existed: existed, error)
            case .detached(let connection, let detached):
                refusePending(connection, request: detached.request, error, subscription: detached.subscription)
            case .removed(let id, let connection, let request):
                removalFailed(id)
                refusePending(connection, request: request, error)
            case .changed(let id, let connection, let request):
                changeEnded(id, connection: connection, request: request, failure: error, now: now)
            case .deadLettered(let id, let sequences): notDeadLettered(sequences, of: id)
            case .deadLetters(let work): deadLettersFailed(work, error)
            case .expired(let id): removalFailed(id)
            case .probed: answerProbes()
            case .valueRefused(let connection, let request, _): refusePending(connection, request: request, error)
            case .valueCleared(let connection, let cleared):
                refusePending(connection, request: cleared.request, error)
            case .will: statistics.unstoredWills += 1
            case .clearing(let read): clearingFailed(read, error)
            }
        }
        failDependentBatch(failure, now: now)
    }

    /// Refuses a request that has waited for the commit, unless its connection has ended.
    private mutating func refusePending(
        _ connection: ConnectionID, request: UInt64, _ error: WireError, subscription: UInt32 = 0, detail: UInt64 = 0
    ) {
        guard connections.contains(connection) else { return }
        connections[connection.slot].answerResolved()
        refuse(connection.slot, request: request, error, subscription: subscription, detail: detail)
    }

    /// Lets the next batch fail, if it depends on values of the batch that has failed.
    private mutating func failDependentBatch(_ failure: StorageFailure, now: BrokerTime) {
        guard values.isNextDependent else { return }
        egress.openBlockEnded(commits.sealOpenBlock())
        charge(values.nextFailed())
        let next = commits.takeNext(now: now.monotonic)
        release(next.log.charges)
        failed(next, failure, now: now)
    }

    private mutating func removalFailed(_ id: DurableID) {
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].removalFailed()
        durables.noteProgress(slot)
        durables.redeliveryReads.wake(slot, isNeeded: durables[slot].mayNeedCopies)
    }

    // MARK: Health

    mutating func storageFailed(_ failure: StorageFailure, now: BrokerTime) {
        if commits.storageFailed(failure, now: now.monotonic) { reportHealth() }
    }

    /// Must be called after a change that may let storage work again, such as a higher limit or a repair.
    package mutating func storageChanged(now: BrokerTime) {
        commits.retry(now: now.monotonic)
        actions.append(.scheduleTick)
    }

    private mutating func storageSucceeded() {
        if commits.storageSucceeded() { reportHealth() }
        pages.readers.retryPages()
        durables.redeliveryReads.retry()
    }
}

extension StorageFailure {
    var wireError: WireError {
        switch kind {
        case .full: WireError(.logFull, "not stored: \(message)")
        case .inputOutput: WireError(.storageFailed, "not stored: \(message)")
        case .damaged: WireError(.logDamaged, "not stored: \(message)")
        }
    }
}
