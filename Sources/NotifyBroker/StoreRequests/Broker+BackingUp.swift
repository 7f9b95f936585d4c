import NIOCore
import NotifyLog
import NotifyWire

/// Backups of the log, which the store makes and a client reads in chunks.
extension Broker {
    mutating func backUp(_ frame: BackupRequest, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        try access.checkManageEverything(connections[slot].identity)
        try backups.add(.init(connection: connections[slot].id, request: frame.request, target: frame.target))
        advanceBackups(now: now.monotonic)
    }

    /// Ends the backup under way if its client has stopped reading it and others wait, and begins the next one.
    mutating func advanceBackups(now: Duration) {
        if backups.endIdle(now: now) { actions.append(.store(.endBackup, .backup(backups.lastNumber))) }
        beginNextBackup()
    }

    private mutating func beginNextBackup() {
        guard connections.drain == .notBegun else { return }
        while let next = backups.takeNext() {
            do {
                // The policy may have changed since the request.
                try access.checkManageEverything(connections[next.connection.slot].identity)
                return actions.append(.store(.beginBackup(target: next.target), .backup(backups.begin(next))))
            } catch {
                refuse(next.connection.slot, request: next.request, error)
            }
        }
    }

    /// Refuses the requests that wait for their turn, because the daemon stops.
    mutating func refuseBackups() {
        for waiting in backups.takeAll() {
            refuse(
                waiting.connection.slot, request: waiting.request,
                WireError(.closing, "not backed up: the daemon is shutting down"))
        }
    }

    /// The backup under way has ended.
    private mutating func backupEnded() {
        actions.append(.store(.endBackup, .backup(backups.lastNumber)))
        beginNextBackup()
    }

    /// The store has copied the log for a backup, or has failed to.
    mutating func backupMade(_ number: UInt64, _ result: Result<UInt64, WireError>, now: BrokerTime) {
        switch result {
        case .success(let bytes):
            guard let waiting = backups.copied(number, bytes: bytes, now: now.monotonic) else { return }
            answer(waiting.connection.slot, BackupReady(request: waiting.request, bytes: bytes))
        case .failure(let error): backupFailed(number, error)
        }
    }

    mutating func readBackup(_ frame: BackupChunkRequest, _ slot: ConnectionSlot) throws(WireError) {
        // The policy may have changed since the backup began.
        if frame.offset != BackupChunkRequest.end { try access.checkManageEverything(connections[slot].identity) }
        let action = try backups.chunkRequested(
            by: connections[slot].id, offset: frame.offset, request: frame.request)
        switch action {
        case .read(let number):
            let bytes = min(BackupChunk.maximumBytes, configuration.maximumPayloadBytes)
            scheduler.spend(bytes >> FairScheduler.Cost.bytesShift)
            actions.append(.store(.readBackup(from: frame.offset, maximumBytes: bytes), .backup(number)))
        case .end(let abandoned):
            backupEnded()
            leave(abandoned, of: slot, frame)
        case .leave(let abandoned):
            leave(abandoned, of: slot, frame)
        }
    }

    private mutating func leave(_ abandoned: UInt64?, of slot: ConnectionSlot, _ frame: BackupChunkRequest) {
        if let abandoned {
            refuse(slot, request: abandoned, WireError(.invalidArgument, "the client ended the backup"))
        }
        answer(slot, BackupChunk(request: frame.request, bytes: ByteBuffer()))
    }

    /// The store has read a chunk of a backup, or has failed to.
    mutating func backupRead(
        _ number: UInt64, _ result: Result<ByteBuffer, WireError>, now: BrokerTime
    ) {
        switch result {
        case .success(let bytes):
            guard let waiting = backups.chunkRead(number, now: now.monotonic) else { return }
            answer(waiting.connection.slot, BackupChunk(request: waiting.request, bytes: bytes))
        case .failure(let error): backupFailed(number, error)
        }
    }

    private mutating func backupFailed(_ number: UInt64, _ error: WireError) {
        guard let waiting = backups.failed(number) else { return }
        backupEnded()
        refuse(waiting.connection.slot, request: waiting.request, error)
    }

    /// Ends the backup of a connection that ends.
    mutating func endBackup(of slot: ConnectionSlot) {
        if backups.ended(connections[slot].id) { backupEnded() }
    }
}
