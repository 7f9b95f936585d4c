import NotifyWire

/// Scheduling of connections with received frames that are not processed yet.
extension Broker {
    /// Begins to serve the queue in this turn of the event loop. The host must then call `nextQueuedConnection` until
    /// it returns nil.
    package mutating func beginServingQueue() { scheduler.beginServingQueue() }

    /// Takes the next queued connection. The host must then call `bytesReceived` with the connection's unprocessed
    /// bytes, even if there are none.
    package mutating func nextQueuedConnection() -> ConnectionID? {
        while let id = scheduler.next() {
            guard connections.contains(id), connections[id.slot].turn == .queued else { continue }
            guard connections[id.slot].pauses == .backlog else {
                connections[id.slot].turn = .deferred
                continue
            }
            connections[id.slot].turn = .running
            return id
        }
        return nil
    }

    /// Begins the connection's slice of work.
    @inline(__always)
    mutating func beginTurn(of slot: ConnectionSlot) {
        switch connections[slot].turn {
        case .none:
            scheduler.beginSlice(
                connections[slot].pauses.isEmpty ? scheduler.readAllowance(of: connections[slot].uid) : 0)
            scheduler.spend(FairScheduler.Cost.read)
        case .queued, .deferred: scheduler.beginSlice(0)
        case .running:
            // `endTurn` resumes reading if nothing is left to process.
            connections[slot].pauses.remove(.backlog)
            scheduler.beginSlice(FairScheduler.slice)
            scheduler.spend(FairScheduler.Cost.turn)
        }
    }

    /// - Parameter hasMore: Whether something is left to process.
    @inline(__always)
    mutating func endTurn(of slot: ConnectionSlot, hasMore: Bool) {
        if hasMore || connections[slot].turn != .none { changeTurn(of: slot, hasMore: hasMore) }
    }

    private mutating func changeTurn(of slot: ConnectionSlot, hasMore: Bool) {
        let turn = connections[slot].turn
        guard hasMore else {
            // The connection may still be in the queue, but `nextQueuedConnection` skips it.
            connections[slot].turn = .none
            // A connection whose input has ended may be finished now. If its last frames had no answers, it is not
            // touched yet.
            if connections[slot].isInputEnded { egress.touch(slot) }
            if turn == .running {
                if connections[slot].pauses.isEmpty { actions.append(.resumeReading(connections[slot].id)) }
            } else {
                resume(slot, .backlog)
            }
            return
        }
        if turn == .running {
            // Reading is still paused: no action is needed.
            connections[slot].pauses.insert(.backlog)
        } else {
            pause(slot, .backlog)
        }
        if turn == .queued || turn == .deferred { return }
        if connections[slot].pauses == .backlog {
            enqueue(slot)
        } else {
            connections[slot].turn = .deferred
        }
    }

    mutating func enqueue(_ slot: ConnectionSlot) {
        connections[slot].turn = .queued
        scheduler.enqueue(connections[slot].id, uid: connections[slot].uid)
        actions.append(.scheduleTick)
    }

    /// Ends this turn of the event loop, and continues removals of ended registrations.
    mutating func turnEnded() {
        if let uid = subscriptions.pendingRemovalUID { continueRemovals(of: uid) }
        scheduler.turnEnded()
        if scheduler.hasQueuedConnections || subscriptions.pendingRemovalUID != nil { actions.append(.scheduleTick) }
    }

    /// Removes ended registrations of a user, up to a slice of work.
    private mutating func continueRemovals(of uid: UInt32) {
        scheduler.beginSlice(FairScheduler.slice)
        while scheduler.hasBudgetLeft, subscriptions.pendingRemovalUID == uid {
            let work = subscriptions.work
            subscriptions.continueRemoval()
            scheduler.spend(subscriptions.work - work)
        }
        scheduler.endSlice(of: uid)
        chargeRegistrations(of: uid)
    }
}
