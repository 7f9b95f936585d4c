import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// The way of messages and changes to the log: sequences, what gathers for the next commit, the batch that the store is
/// committing, and whether storage works.
struct CommitPipeline {
    /// How many times the bytes at which posters are held back may wait for the log. Each connection is held back only
    /// after one more message, and there may be many of them.
    private static let pendingOverrun = 8

    private let pendingLimit: Int
    private let retryDelay: Duration
    private let progressDelay: Duration

    private(set) var sequencer: Sequencer
    private(set) var pending = PendingLog()
    private(set) var inFlight: InFlightBatch?
    private var nextBatchID: UInt64 = 1
    private(set) var health = StorageHealth()
    /// When progress must be persisted, or a failed commit tried again.
    private var deadline: Duration?
    /// The highest sequence that is in the log.
    private(set) var persistedThrough: UInt64
    /// Connections that are not read from until the log has caught up.
    private var heldConnections: Set<ConnectionSlot> = []

    init(_ configuration: BrokerConfiguration, recovered: RecoveredLog) {
        pendingLimit = configuration.pendingLogBytes
        retryDelay = configuration.storageRetryDelay
        progressDelay = configuration.acknowledgementDelay
        sequencer = Sequencer(next: recovered.nextSequence, usableThrough: recovered.usableThrough)
        persistedThrough = recovered.persistedThrough
    }

    // MARK: Gathering

    /// The next sequence.
    ///
    /// - Throws: `storageFailed`, where none is reserved.
    mutating func takeSequence() throws(WireError) -> UInt64 {
        guard let sequence = sequencer.take() else {
            throw WireError(.storageFailed, "no sequence can be reserved until the daemon's disk works again")
        }
        return sequence
    }

    /// - Throws: `storageFailed` or `logFull`, where storage is known to fail or too much waits for the store already.
    func checkRoom() throws(WireError) {
        if let failure = health.failure { throw failure.wireError }
        guard pending.bytes < pendingLimit * Self.pendingOverrun else {
            throw WireError(.storageFailed, "not stored: too much waits for the disk already; post it again later")
        }
    }

    /// Adds a message to the next batch and returns where it lies in the log's open block.
    mutating func append(
        _ stamp: Stamp, _ parts: MessageParts, _ resolution: Resolution
    ) -> (start: Int, end: Int) {
        pending.append(stamp, parts, resolution)
    }

    /// Whether the open block is to be cut before another message is added.
    @inline(__always)
    var isOpenBlockFull: Bool { pending.open.block.frames.writerIndex >= Egress.blockBytes }

    /// The post is answered when the outcome of the next batch is known.
    mutating func awaitCommit(of waiter: PendingLog.Waiter, isSynced: Bool) {
        pending.isSynced = pending.isSynced || isSynced
        pending.waiters.append(waiter)
    }

    /// Whether so much waits for the store that no more is to be taken from connections that bring it.
    @inline(__always)
    var isBehind: Bool { pending.bytes > pendingLimit }

    /// Holds a connection back until the outcome of the next batch is known. Returns whether it was not held already.
    mutating func hold(_ slot: ConnectionSlot) -> Bool { heldConnections.insert(slot).inserted }

    /// Adds a change and what follows its commit, which is wanted soon.
    mutating func append(_ change: DurableChange?, then continuation: PendingLog.Continuation, isSynced: Bool = false) {
        pending.append(change, then: continuation)
        pending.isSynced = pending.isSynced || isSynced
        pending.isWanted = true
    }

    /// Adds a change that no request waits for.
    mutating func append(_ change: DurableChange) {
        pending.changes.append(change)
    }

    /// Drops the pending `setOwner` changes of a subscription whose creation failed.
    mutating func dropOwnerChanges(of id: DurableID) {
        pending.changes.removeAll { if case .setOwner(id, _) = $0 { true } else { false } }
    }

    /// Charges a user with what waits since `earlier` bytes did, until the outcome is known. Returns how many bytes that are.
    mutating func charge(since earlier: Int, to uid: UInt32) -> Int {
        let bytes = pending.bytes - earlier
        pending.charge(bytes, to: uid)
        return bytes
    }

    /// The next batch is committed as soon as the store is free.
    mutating func requestCommit() {
        pending.isWanted = true
    }

    /// There is progress to persist, soon but not at once.
    mutating func progressMade(now: Duration) {
        let due = now + progressDelay
        deadline = min(deadline ?? due, due)
    }

    /// Ends the log's open block and returns its bytes.
    mutating func cutOpenBlock() -> ByteBuffer { pending.cut() }

    /// Nothing waits for a commit, and none is in flight.
    var isIdle: Bool { inFlight == nil && !pending.isWanted }

    mutating func connectionEnded(_ slot: ConnectionSlot) {
        heldConnections.remove(slot)
    }

    // MARK: Batches

    /// Begins the next batch, if the store is free and there is reason to. `takeProgress` returns the progress that is
    /// not persisted; it is asked only then.
    mutating func beginBatch(
        hasProgress: Bool, now: Duration, takeProgress: () -> (slots: Set<DurableSlot>, changes: [DurableChange])
    ) -> CommitBatch? {
        guard inFlight == nil else { return nil }
        let isDue = deadline.map { $0 <= now } ?? false
        var reservation = !health.isFailing || isDue ? sequencer.wantedReservation : nil
        // While storage fails, each retry writes something, so that it is seen when it works again.
        if isDue, health.isFailing { reservation = reservation ?? sequencer.mark }
        guard pending.isWanted || reservation != nil || (isDue && hasProgress) else {
            if isDue { deadline = nil }
            return nil
        }
        let progress = takeProgress()
        _ = pending.cut()
        let batch = InFlightBatch(
            id: nextBatchID, log: pending, progressOf: progress.slots, reserveThrough: reservation, started: now)
        pending = PendingLog()
        deadline = nil
        nextBatchID += 1
        if reservation != nil { sequencer.reservationBegan() }
        inFlight = batch
        return CommitBatch(
            id: batch.id, blocks: batch.log.sealed.map(\.block), changes: batch.log.changes + progress.changes,
            reserveThrough: reservation, isSynced: batch.log.isSynced, isProbe: health.isFailing)
    }

    /// Takes the batch in flight, if the outcome is its.
    mutating func takeInFlight(_ outcome: CommitOutcome) -> InFlightBatch? {
        guard let batch = inFlight, batch.id == outcome.batchID else { return nil }
        inFlight = nil
        if let mark = batch.reserveThrough {
            let succeeded = if case .success = outcome.result { true } else { false }
            sequencer.reservationEnded(through: mark, succeeded: succeeded)
        }
        return batch
    }

    /// The batch is in the log.
    mutating func persisted(_ batch: InFlightBatch) {
        persistedThrough = batch.lastSequence ?? persistedThrough
    }

    /// Takes the connections that may be read from again, now that the log has caught up.
    mutating func takeHeldConnections() -> [ConnectionSlot] {
        defer { heldConnections = [] }
        return heldConnections.sorted()
    }

    // MARK: Health

    /// Notes a failure; another commit is tried later. Returns whether that is news.
    mutating func storageFailed(_ failure: StorageFailure, now: Duration) -> Bool {
        deadline = now + retryDelay
        return health.set(failure)
    }

    /// A commit succeeded. Returns whether that is news.
    mutating func storageWorks() -> Bool { health.set(nil) }

    func silenceDeadline(pageStarted: Duration?) -> Duration? {
        health.silenceDeadline(since: .earlier(inFlight?.started, pageStarted))
    }

    /// Notes that the store has not answered for too long. Returns whether that is news.
    mutating func noteSilence(pageStarted: Duration?, now: Duration) -> Bool {
        guard let silent = silenceDeadline(pageStarted: pageStarted), silent <= now else { return false }
        // Where only a page is late, a commit must show that storage works again.
        deadline = deadline ?? now + retryDelay
        return health.set(
            StorageFailure(
                kind: .inputOutput, message: "the disk has not answered for \(StorageHealth.longestSilence)"))
    }

    /// When the pipeline has something to do even if no event comes. While a batch is in flight no other begins, however
    /// late it is.
    func nextDeadline(pageStarted: Duration?) -> Duration? {
        .earlier(inFlight == nil ? deadline : nil, silenceDeadline(pageStarted: pageStarted))
    }
}
