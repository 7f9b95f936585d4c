import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// Batches messages, and changes to durable subscriptions, for the log. Holds the sequencer, the pending content of the
/// next batch, the batch in flight, and the health of storage. Messages are appended to the open block of the pending
/// content (see ``PendingLog``).
struct CommitPipeline {
    /// The multiple of `pendingLimit` at which posts to be stored are refused. A connection is already paused at
    /// `pendingLimit`, but only after it has added a message. Many connections together can therefore exceed that
    /// limit.
    private static let maximumPendingFactor = 8
    /// The number of ``countDeleted(_:)`` changes in the next batch at which a connection that adds one is paused. The
    /// store counts deleted messages for each of these changes, and the batch must not take long.
    private static let maximumDeletionCounts = 64

    private let pendingLimit: Int
    private let retryDelay: Duration
    private let progressDelay: Duration

    /// The epoch of the log. Changes when a backup replaces the log.
    let epoch: UInt64
    private(set) var sequencer: Sequencer
    private(set) var pending = PendingLog()
    private(set) var inFlight: InFlightBatch?
    /// The id of the batch that will contain the pending content.
    private(set) var nextBatchID: UInt64 = 1
    private(set) var health = StorageHealth()
    var damage = KnownDamage()
    /// Whether storage was failing, and something has changed that may let the next batch succeed.
    private var isRetryRequested = false
    /// The time of the next commit of progress, or of the next attempt after a failure.
    private var deadline: Duration?
    /// The highest sequence committed to the log.
    private(set) var persistedThrough: UInt64
    /// The time of the last outcome of a batch.
    private var lastOutcome = Duration.zero
    /// Connections from which reading is paused until the next outcome of a batch.
    private var pausedConnections: Set<ConnectionSlot> = []

    init(_ configuration: BrokerConfiguration, recovered: RecoveredLog) {
        epoch = recovered.epoch
        pendingLimit = configuration.pendingLogBytes
        retryDelay = configuration.storageRetryDelay
        progressDelay = configuration.acknowledgementDelay
        sequencer = Sequencer(next: recovered.nextSequence, usableBelow: recovered.usableBelow)
        persistedThrough = recovered.persistedThrough
        _ = health.set(recovered.failure)
    }

    // MARK: Pending content

    /// Takes the next sequence.
    ///
    /// - Throws: `storageFailed` if no sequence is available.
    mutating func takeSequence() throws(WireError) -> UInt64 {
        guard let sequence = sequencer.take() else {
            throw WireError(
                .storageFailed, "not accepted: no sequence can be reserved until the daemon's disk works again")
        }
        return sequence
    }

    /// The failure for which messages are refused. Nil while storage works, and while a requested retry is due or in
    /// progress.
    var refusal: StorageFailure? {
        isRetryRequested || inFlight?.isRetry ?? false ? nil : health.failure
    }

    /// Checks whether a message may be stored.
    ///
    /// - Throws: `storageFailed`, `logFull` or `logDamaged` while storage fails. `storageFailed` while too many bytes
    ///   are pending.
    func checkRoom() throws(WireError) {
        if let failure = refusal { throw failure.wireError }
        guard pending.bytes < pendingLimit * Self.maximumPendingFactor else {
            throw WireError(.storageFailed, "not stored: too many bytes wait for the disk; try again later")
        }
    }

    /// Makes the store count the deleted messages after the start position of a new subscription.
    ///
    /// - Returns: Whether the next batch has reached the limit of these changes, so that the connection must wait for
    ///   the outcome of the batch.
    mutating func countDeleted(_ record: DurableRecord) -> Bool {
        append(.countDeleted(record))
        pending.deletionCounts += 1
        return pending.deletionCounts >= Self.maximumDeletionCounts
    }

    /// Adds a message to the next batch, and returns the message's position in the open block.
    mutating func append(
        _ stamp: Stamp, _ parts: MessageParts, _ resolution: Resolution
    ) -> (start: Int, end: Int) {
        pending.append(stamp, parts, resolution)
    }

    /// Whether the open block must be sealed before another message is added.
    @inline(__always)
    var isOpenBlockFull: Bool { pending.open.block.frames.writerIndex >= Egress.blockBytes }

    /// Adds a post that is answered when the outcome of the next batch is known.
    mutating func awaitCommit(of waiter: PendingLog.Waiter, isSynced: Bool) {
        pending.isSynced = pending.isSynced || isSynced
        pending.waiters.append(waiter)
    }

    /// Records the changes of values in the batch in flight.
    mutating func began(_ values: [ValueChange]) { inFlight?.values = values }

    /// Whether the pending bytes exceed the limit. If so, connections that add more must be paused.
    @inline(__always)
    var isBehind: Bool { pending.bytes > pendingLimit }

    /// Adds a connection to the connections from which reading is paused until the next outcome of a batch.
    ///
    /// - Returns: False if the connection was already in the set.
    mutating func pauseUntilOutcome(_ slot: ConnectionSlot) -> Bool { pausedConnections.insert(slot).inserted }

    /// Adds a change, if there is one, and the continuation for the outcome. Requests a commit.
    mutating func append(_ change: DurableChange?, then continuation: PendingLog.Continuation, isSynced: Bool = false) {
        pending.append(change, then: continuation)
        pending.isSynced = pending.isSynced || isSynced
        pending.isRequested = true
    }

    /// Adds a change to the next batch. If the batch fails, the caller must add it again.
    mutating func append(_ change: DurableChange) {
        pending.append(change)
        pending.isRequested = true
    }

    /// Takes the requests in the next batch that create a subscription. Called when an earlier batch has failed to
    /// create it.
    mutating func takeCreations(of id: DurableID) -> [(connection: ConnectionID, request: UInt64)] {
        pending.takeCreations(of: id)
    }

    /// Drops the pending changes of a subscription whose creation failed, except the removal of the subscription.
    mutating func dropChanges(of id: DurableID) {
        pending.changes.removeAll { change in
            switch change {
            case .setOwner(id, _, _): true
            case .replace(let record), .countDeleted(let record): record.id == id
            case .keep(id, _, _, _), .forget(id, _): true
            default: false
            }
        }
    }

    /// Charges a user for added pending bytes, until the outcome is known.
    ///
    /// - Parameter earlier: The value of `pending.bytes` before the addition.
    /// - Returns: The number of bytes charged.
    mutating func charge(since earlier: Int, to uid: UInt32) -> Int {
        let bytes = pending.bytes - earlier
        pending.charge(bytes, to: uid)
        return bytes
    }

    /// Requests that the next batch begins as soon as the store is free, and contains the progress.
    mutating func requestCommit() {
        pending.isRequested = true
        pending.isProgressRequested = true
    }

    /// Schedules a commit of progress after `progressDelay`.
    mutating func progressMade(now: Duration) {
        let due = now + progressDelay
        deadline = min(deadline ?? due, due)
    }

    /// Seals the open block and returns its bytes.
    mutating func sealOpenBlock() -> ByteBuffer { pending.sealOpenBlock() }

    mutating func connectionEnded(_ slot: ConnectionSlot) {
        pausedConnections.remove(slot)
    }

    // MARK: Batches

    /// Begins the next batch, if the store is free and a commit is due.
    ///
    /// A batch of messages alone leaves out progress that is not due yet: a cursor that moves with each message is
    /// written once per `progressDelay`, not once per batch.
    ///
    /// - Parameters:
    ///   - hasRedeliveries: Whether the progress contains redeliveries. The batch then contains the progress, because
    ///     further messages may wait until the redeliveries are in the log.
    ///   - takeProgress: Returns the unpersisted progress. Called only if the batch contains it.
    mutating func beginBatch(
        hasProgress: Bool, hasRedeliveries: Bool = false, now: Duration, takeProgress: () -> UnsavedProgress
    ) -> CommitBatch? {
        guard inFlight == nil else { return nil }
        let isDue = deadline.map { $0 <= now } ?? false
        var reservation = !health.isFailing || isDue ? sequencer.neededReservation : nil
        // While storage fails, each retry writes a reservation, to detect when storage works again.
        if isDue, health.isFailing { reservation = reservation ?? sequencer.reservedBelow }
        guard pending.isRequested || reservation != nil || (isDue && hasProgress) else {
            if isDue { deadline = nil }
            return nil
        }
        let containsProgress =
            isDue || deadline == nil || hasRedeliveries || health.isFailing || !pending.isOnlyMessages
        let progress = containsProgress ? takeProgress() : UnsavedProgress()
        _ = pending.sealOpenBlock()
        let batch = CommitBatch(
            id: nextBatchID, blocks: pending.sealed.map(\.block), changes: pending.changes + progress.changes,
            reserveBelow: reservation, isSynced: pending.isSynced, isProbe: health.isFailing)
        inFlight = InFlightBatch(
            id: nextBatchID, log: exchange(&pending, with: PendingLog()), progressOf: progress.slots,
            losses: progress.losses, passedLosses: progress.passedLosses, redeliveries: progress.redeliveries,
            reserveBelow: reservation, started: now, isRetry: isRetryRequested)
        isRetryRequested = false
        if containsProgress { deadline = nil }
        nextBatchID += 1
        if reservation != nil { sequencer.reservationBegan() }
        return batch
    }

    /// Takes the content of the next batch, whose open block must be sealed, as a batch that is not passed to the store.
    mutating func takeNext(now: Duration) -> InFlightBatch {
        defer { nextBatchID += 1 }
        return InFlightBatch(
            id: nextBatchID, log: exchange(&pending, with: PendingLog()), progressOf: [], reserveBelow: nil,
            started: now)
    }

    /// Takes the batch in flight if the outcome is that of this batch, otherwise returns nil.
    mutating func takeInFlight(_ outcome: CommitOutcome, now: Duration) -> InFlightBatch? {
        guard inFlight?.id == outcome.batchID, let batch = inFlight.take() else { return nil }
        lastOutcome = now
        if let mark = batch.reserveBelow {
            let succeeded = if case .success = outcome.result { true } else { false }
            sequencer.reservationEnded(below: mark, succeeded: succeeded)
        }
        return batch
    }

    /// Records that the batch is committed to the log.
    mutating func persisted(_ batch: InFlightBatch) {
        persistedThrough = batch.lastSequence ?? persistedThrough
    }

    /// Takes the paused connections, to resume reading from them.
    mutating func takePausedConnections() -> [ConnectionSlot] {
        defer { pausedConnections = [] }
        return pausedConnections.sorted()
    }

    // MARK: Health

    /// Records a failure and schedules a retry.
    ///
    /// - Returns: Whether the health changed.
    mutating func storageFailed(_ failure: StorageFailure, now: Duration) -> Bool {
        deadline = isRetryRequested ? now : now + retryDelay
        return health.set(failure)
    }

    /// Makes the next batch due at once, if storage is failing. Until its outcome, messages are accepted.
    mutating func retry(now: Duration) {
        guard health.isFailing else { return }
        isRetryRequested = true
        deadline = now
    }

    /// Records that a commit succeeded.
    ///
    /// - Returns: Whether the health changed.
    mutating func storageSucceeded() -> Bool { health.set(nil) }

    /// The time by which the store must respond; nil if nothing waits for the store. The store serves requests in
    /// order, so the time for a page is counted from the last outcome of a batch if that is later than the request.
    @inline(__always)
    func responseDeadline(pageStarted: Duration?) -> Duration? {
        health.responseDeadline(since: .earlier(inFlight?.started, pageStarted.map { max($0, lastOutcome) }))
    }

    /// Records a storage failure if the store has not responded within the timeout.
    ///
    /// - Returns: Whether the health changed.
    mutating func checkResponseDeadline(pageStarted: Duration?, now: Duration) -> Bool {
        guard let silent = responseDeadline(pageStarted: pageStarted), silent <= now else { return false }
        // Only a successful commit ends the failure. A commit is scheduled, because a page can be late while no batch
        // is in flight.
        deadline = deadline ?? now + retryDelay
        return health.set(
            StorageFailure(
                kind: .inputOutput, message: "the disk did not respond within \(StorageHealth.responseTimeout.text)"))
    }

    /// The time of the next retry, commit of progress or response timeout; nil for none. Only the response timeout
    /// applies while a batch is in flight, because no other batch can begin.
    @inline(__always)
    func nextDeadline(pageStarted: Duration?) -> Duration? {
        .earlier(inFlight == nil ? deadline : nil, responseDeadline(pageStarted: pageStarted))
    }
}
