import NIOCore
import NotifyLog
import NotifyWire

/// A request to make a backup. It waits for the end of the backup under way.
struct LogBackup: StoreTask {
    static let kind = StoreRequestKind.backup
    static let refusal = "not backed up"
    static let holdsConnection = false

    let target: FileLocation

    func mayBegin(in broker: borrowing Broker) -> Bool { broker.storeRequests.backups.isIdle }

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) throws(WireError) -> StoreTaskStart {
        // The policy may have changed since the request.
        try broker.access.checkManageEverything(broker.connections[request.connection.slot].identity)
        let number = broker.storeRequests.backups.begin(request)
        broker.actions.append(.store(.beginBackup(target: target), .backup(number)))
        return .leaves
    }

    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress { unexpected(answer) }
}

/// Backups of the log. The store makes each backup, and a client reads it in chunks.
extension Broker {
    mutating func backUp(_ frame: BackupRequest, _ slot: ConnectionSlot) throws(WireError) {
        try access.checkManageEverything(connections[slot].identity)
        let (id, uid) = (connections[slot].id, connections[slot].uid)
        guard !storeRequests.backups.isMade(by: id), !storeRequests.hasRequest(of: id, uid: uid, .backup) else {
            throw WireError(.invalidArgument, "this connection already makes a backup: wait until it has ended")
        }
        // A request that can begin in this tick does not count as waiting.
        let limit = Backups.maximumRequests + (storeRequests.backups.isIdle ? 1 : 0)
        guard storeRequests.waitingCount(of: .backup) < limit else {
            throw WireError(.limitReached, "\(Backups.maximumRequests) requests wait for a backup: try again later")
        }
        try request(LogBackup(target: frame.target), frame.request, slot)
    }

    /// The time at which the backup under way must make room for another one; nil if no request waits.
    var backupDeadline: Duration? {
        storeRequests.waitingCount(of: .backup) > 0 ? storeRequests.backups.idleDeadline : nil
    }

    /// Ends the backup under way if its client has stopped reading it and other clients wait for a backup.
    mutating func endIdleBackup(now: Duration) {
        if backupDeadline != nil, storeRequests.backups.endIdle(now: now) { backupEnded() }
    }

    /// Handles the end of the backup under way. The next one begins at the end of the tick.
    private mutating func backupEnded() {
        actions.append(.store(.endBackup, .backup(storeRequests.backups.lastNumber)))
        actions.append(.scheduleTick)
    }

    mutating func readBackup(_ frame: BackupChunkRequest, _ slot: ConnectionSlot) throws(WireError) {
        let (id, uid) = (connections[slot].id, connections[slot].uid)
        if frame.offset == BackupChunkRequest.end {
            if !storeRequests.backups.isMade(by: id),
                let request = storeRequests.removeWaiting(.backup, of: id, uid: uid).first
            {
                ledger.release(request.charge)
                return leave(request.id, of: slot, frame)
            }
        } else {
            // The policy may have changed since the backup began.
            try access.checkManageEverything(connections[slot].identity)
        }
        switch try storeRequests.backups.chunkRequested(by: id, offset: frame.offset, request: frame.request) {
        case .read(let number):
            let bytes = min(BackupChunk.maximumBytes, configuration.maximumPayloadBytes)
            scheduler.spend(bytes >> FairScheduler.Cost.bytesShift)
            actions.append(.store(.readBackup(from: frame.offset, maximumBytes: bytes), .backup(number)))
        case .end(let abandoned):
            backupEnded()
            leave(abandoned, of: slot, frame)
        }
    }

    private mutating func leave(_ abandoned: RequestID?, of slot: ConnectionSlot, _ frame: BackupChunkRequest) {
        if let abandoned { refuse(abandoned, WireError(.invalidArgument, "the client ended the backup")) }
        answer(slot, BackupChunk(request: frame.request, bytes: ByteBuffer()))
    }

    /// Handles an answer of the store: it has copied the log, read a chunk of the backup, or failed.
    mutating func backedUp(_ answer: StoreAnswer, for number: UInt64, now: BrokerTime) {
        switch answer {
        case .backupMade(.success(let bytes)):
            guard let waiting = storeRequests.backups.copied(number, bytes: bytes, now: now.monotonic) else { return }
            self.answer(waiting, BackupReady(request: waiting.number, bytes: bytes))
        case .backupRead(.success(let bytes)):
            guard let waiting = storeRequests.backups.chunkRead(number, now: now.monotonic) else { return }
            self.answer(waiting, BackupChunk(request: waiting.number, bytes: bytes))
        case .backupMade(.failure(let error)), .backupRead(.failure(let error)):
            guard let waiting = storeRequests.backups.failed(number) else { return }
            backupEnded()
            refuse(waiting, error)
        default: preconditionFailure("the store has answered a backup with \(answer)")
        }
    }

    /// Ends the backup of a connection that ends, if it has one.
    mutating func endBackup(of slot: ConnectionSlot) {
        if storeRequests.backups.ended(connections[slot].id) { backupEnded() }
    }
}
