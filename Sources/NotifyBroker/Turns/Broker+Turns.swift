import NotifyWire

/// Scheduling of connections with received frames that are not processed yet.
extension Broker {
    /// Begins to serve the queue in this turn of the event loop. Call `nextTurn` until it returns nil.
    package mutating func turnsBegan() { turns.queueBegan() }

    /// The next queued connection to process. The host calls `bytesReceived` with its unprocessed bytes, even if there
    /// are none.
    package mutating func nextTurn() -> ConnectionID? {
        while let id = turns.next() {
            guard connections.contains(id), connections[id.slot].turn == .waiting else { continue }
            guard connections[id.slot].pauses == .backlog else {
                connections[id.slot].turn = .held
                continue
            }
            connections[id.slot].turn = .going
            return id
        }
        return nil
    }

    /// Sets how much work may be done for the connection now.
    @inline(__always)
    mutating func beginTurn(of slot: ConnectionSlot) {
        switch connections[slot].turn {
        case .none:
            turns.beginSlice(connections[slot].pauses.isEmpty ? turns.readAllowance(of: connections[slot].uid) : 0)
            turns.spend(Turns.Cost.read)
        case .waiting, .held: turns.beginSlice(0)
        case .going:
            // Reading resumes when nothing is left to process.
            connections[slot].pauses.remove(.backlog)
            turns.beginSlice(Turns.slice)
            turns.spend(Turns.Cost.turn)
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
            // `nextTurn` skips its entry in the queue.
            connections[slot].turn = .none
            if turn == .going {
                if connections[slot].pauses.isEmpty { actions.append(.resumeReading(connections[slot].id)) }
            } else {
                resume(slot, .backlog)
            }
            return
        }
        if turn == .going {
            // Reading is still paused: no action is needed.
            connections[slot].pauses.insert(.backlog)
        } else {
            pause(slot, .backlog)
        }
        if turn == .waiting || turn == .held { return }
        if connections[slot].pauses == .backlog {
            waitForTurn(slot)
        } else {
            connections[slot].turn = .held
        }
    }

    mutating func waitForTurn(_ slot: ConnectionSlot) {
        connections[slot].turn = .waiting
        turns.wait(connections[slot].id, uid: connections[slot].uid)
        actions.append(.continueSoon)
    }

    /// Ends this turn of the event loop.
    mutating func turnEnded() {
        if let uid = subscriptions.uidOfRemains { removeRemains(of: uid) }
        turns.ended()
        if turns.isAnyoneWaiting || subscriptions.uidOfRemains != nil { actions.append(.continueSoon) }
    }

    /// Removes registrations of a user's closed connections, up to a slice of work.
    private mutating func removeRemains(of uid: UInt32) {
        turns.beginSlice(Turns.slice)
        while turns.hasWorkLeft, subscriptions.uidOfRemains == uid {
            let work = subscriptions.work
            subscriptions.removeRemains()
            turns.spend(subscriptions.work - work)
        }
        turns.endSlice(of: uid)
        chargeRegistrations(of: uid)
    }
}
