import NotifyWire

/// Turns of connections whose frames are not all processed as they are read.
extension Broker {
    /// A turn of the event loop has come to what waits: `nextTurn` follows until it returns nil.
    package mutating func turnsBegan() { turns.queueBegan() }

    /// The next connection that is to go on: `bytesReceived` is to be called with the bytes that were not used, also if there
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

    /// Decides how much work may be done for the connection now.
    @inline(__always)
    mutating func beginTurn(of slot: ConnectionSlot) {
        switch connections[slot].turn {
        case .none:
            turns.beginSlice(connections[slot].pauses.isEmpty ? turns.readAllowance(of: connections[slot].uid) : 0)
            turns.spend(Turns.Cost.read)
        case .waiting, .held: turns.beginSlice(0)
        case .going:
            // Reading goes on when nothing is left.
            connections[slot].pauses.remove(.backlog)
            turns.beginSlice(Turns.slice)
            turns.spend(Turns.Cost.turn)
        }
    }

    /// - Parameter hasMore: Whether something is left that can be processed.
    @inline(__always)
    mutating func endTurn(of slot: ConnectionSlot, hasMore: Bool) {
        if hasMore || connections[slot].turn != .none { changeTurn(of: slot, hasMore: hasMore) }
    }

    private mutating func changeTurn(of slot: ConnectionSlot, hasMore: Bool) {
        let turn = connections[slot].turn
        guard hasMore else {
            // What is in the queue is passed over.
            connections[slot].turn = .none
            if turn == .going {
                if connections[slot].pauses.isEmpty { actions.append(.resumeReading(connections[slot].id)) }
            } else {
                resume(slot, .backlog)
            }
            return
        }
        if turn == .going {
            // It has not been read from meanwhile.
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

    /// Ends the work of this turn.
    mutating func turnEnded() {
        if let uid = subscriptions.uidOfRemains { removeRemains(of: uid) }
        turns.ended()
        if turns.isAnyoneWaiting || subscriptions.uidOfRemains != nil { actions.append(.continueSoon) }
    }

    /// Removes what closed connections of a user left, as far as that takes a slice of work.
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
