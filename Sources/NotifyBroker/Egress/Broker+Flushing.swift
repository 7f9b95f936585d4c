package import NIOCore
import NotifyWire

/// The output to sockets.
extension Broker {
    /// Takes the next connection to flush. The host must then call `nextOutput` until it returns nil or the socket has
    /// no room, and then call `settle`. Returns nil when no connection is left for this turn. Connections beyond the
    /// budget of the turn are flushed in later turns.
    package mutating func nextTouchedConnection() -> ConnectionID? {
        if let id = Self.nextToFlush(&egress, connections) { return id }
        resumePacedPosters()
        if egress.isBehind || !egress.pacer.isEmpty { actions.append(.scheduleTick) }
        return nil
    }

    private static func nextToFlush(_ egress: inout Egress, _ connections: Connections) -> ConnectionID? {
        egress.nextToFlush(connections)
    }

    /// Takes the next bytes for a connection, within its slice of the turn's budget. Taken bytes can't be dropped any
    /// more, so the host takes no more than the socket has room for.
    package mutating func nextOutput(for id: ConnectionID) -> ByteBuffer? {
        guard connections.contains(id), !egress.flushBudget.isSliceOver, mayWrite(id.slot),
            let bytes = egress[id.slot].next()
        else { return nil }
        egress.flushBudget.spend(bytes.readableBytes >> FlushBudget.bytesShift)
        return bytes
    }

    /// Charges the rest of a connection's output after the host has taken as much as the socket has room for. Applies
    /// the overflow policy if the connection exceeds its limit.
    ///
    /// - Parameters:
    ///   - isBlocked: Whether some of the taken bytes wait for the socket.
    ///   - socketBytes: The kernel's memory for bytes that the peer has not read.
    package mutating func settle(
        _ id: ConnectionID, isBlocked: Bool, socketBytes: Int = 0, now: BrokerTime
    ) -> Settlement {
        guard connections.contains(id) else { return .open }
        let slot = id.slot
        if scheduler.hasQueuedConnections { scheduler.charge(FairScheduler.Cost.flush, to: connections[slot].uid) }
        egress[slot].settle(isBlocked: isBlocked, in: connections[slot].retainedBlocks)
        chargeOutbox(slot)
        chargeSocket(slot, bytes: socketBytes, now: now)
        if !isBlocked, egress[slot].hasOutput, mayWrite(slot) { egress.queue(id, of: connections[slot].uid) }
        // The bytes of a connection that is queued for flushing do not wait for the peer, so its limit applies only
        // while its user exceeds the share of the memory.
        if egress[slot].droppableBytes > 0, !egress[slot].isQueued || ledger.room(of: connections[slot].uid) < 0 {
            limitOutbox(slot, now: now)
        }
        updateAnswerBackPressure(slot)
        if connections[slot].hasBlockedReaders, hasRoom(slot) {
            wakeReaders(of: slot)
            actions.append(.scheduleTick)
        }
        if !connections[slot].servers.isEmpty { settleServers(of: slot, now: now) }
        // `isAllAnswered` is called for few connections only, because the call copies all fields of the broker.
        guard egress[slot].isEmpty,
            connections[slot].session.isClosing || connections[slot].isInputEnded && isAllAnswered(slot)
        else { return .open }
        return mayClose(slot) ? .closed : .open
    }

    /// Ends the servers of a peer that sends nothing more. Hands waiting calls to those of a peer that reads again.
    private mutating func settleServers(of slot: ConnectionSlot, now: BrokerTime) {
        if connections[slot].isInputEnded, connections[slot].turn == .none {
            endServers(of: slot, now: now)
            actions.append(.scheduleTick)
        }
        if connections[slot].hasBlockedServers, resumeServers(of: slot, now: now) { actions.append(.scheduleTick) }
    }

    /// Charges the budget of the turn for closing a connection. If the budget is used up, the connection is settled
    /// again in a later turn.
    private mutating func mayClose(_ slot: ConnectionSlot) -> Bool {
        let uid = connections[slot].uid
        guard !egress.flushBudget.isTurnOver else {
            egress.queue(connections[slot].id, of: uid)
            return false
        }
        egress.flushBudget.spend(FairScheduler.Cost.close)
        if scheduler.hasQueuedConnections { scheduler.charge(FairScheduler.Cost.close, to: uid) }
        return true
    }

    /// The result of `settle` for the host.
    package enum Settlement {
        case open
        /// The host must close the connection once all taken bytes are sent: the connection has failed or everything is
        /// answered, its outbox is empty, and the budget of the turn is not used up.
        case closed
    }

    /// Must be called when the socket has room again.
    package mutating func connectionWritable(_ id: ConnectionID) {
        guard connections.contains(id) else { return }
        egress.touch(id.slot)
    }

    /// Whether a connection's outbox is empty, or the connection is closed.
    package func isFlushed(_ id: ConnectionID) -> Bool {
        !connections.contains(id) || egress[id.slot].isEmpty
    }

    // MARK: Limits

    /// The size of an outbox above which the policy `keepLatest` applies, at most. A reduction takes time in proportion
    /// to the size, and loses nothing that the client needs.
    private static let keptLatestBytes = 4 << 20

    private mutating func chargeOutbox(_ slot: ConnectionSlot) {
        let waiting = egress[slot].droppableBytes
        let own = egress[slot].ownBytes
        let shared = connections[slot].retainedBlocks.byteCount
        guard connections[slot].outboxCharge != (waiting, own, shared) else { return }
        chargeOutbox(slot, waiting: waiting, own: own)
    }

    /// Charges the connection's user for the contents of the outbox.
    mutating func chargeOutbox(_ slot: ConnectionSlot, waiting: Int, own: Int) {
        let uid = connections[slot].uid
        let earlier = connections[slot].outboxCharge
        let shared = connections[slot].retainedBlocks.byteCount
        connections[slot].outboxCharge = (waiting, own, shared)
        ledger.change(.outboxBytes, by: waiting - earlier.waiting, uid: uid)
        ledger.change(.answerBytes, by: own - earlier.own, uid: uid)
        ledger.set(.blockBytes, to: shared, uid: uid)
        ledger.change(.slowConnections, by: (waiting > 0 ? 1 : 0) - (earlier.waiting > 0 ? 1 : 0), uid: uid)
    }

    /// Discards the output of a connection that ends.
    mutating func endOutput(of slot: ConnectionSlot) {
        egress.discard(slot)
        chargeOutbox(slot, waiting: 0, own: 0)
    }

    /// Applies the overflow policy to a connection that exceeds its limit, or its share of the user's limit.
    private mutating func limitOutbox(_ slot: ConnectionSlot, now: BrokerTime) {
        let part = ledger.outboxLimitPerConnection(uid: connections[slot].uid) ?? .max
        var limit = min(configuration.outboxBytesPerConnection, part)
        if connections[slot].overflow == .keepLatest { limit = min(limit, Self.keptLatestBytes) }
        guard egress[slot].droppableBytes > limit else { return }
        egress.flushBudget.spend(egress[slot].droppableBytes >> FairScheduler.Cost.bytesShift)
        // Drops down to 3/4 of the limit. Each pass scans the remaining messages, so a pass per message would be slow.
        let target = limit - limit / 4
        var dropped: UInt64 = 0
        switch connections[slot].overflow {
        case .disconnect:
            let error = WireError(
                .tooSlow,
                "more than \(limit) bytes of messages waited for this connection, whose overflow policy is to disconnect"
            )
            fail(slot, error, detail: UInt64(limit), now: now)
            actions.append(.scheduleTick)
            return
        case .keepLatest:
            if scheduler.mayReduce(now: now.monotonic) {
                scheduler.reduced(bytes: egress[slot].droppableBytes, now: now.monotonic)
                // Not counted by name (see `NameCounts.Entry.dropped`).
                dropped = egress[slot].keepLatest()
            } else if egress[slot].droppableBytes <= 2 * limit {
                // Reductions are rate-limited. The outbox is checked again at its next flush.
                return
            }
        case .dropOldest:
            break
        }
        if egress[slot].droppableBytes > target {
            let oldest = egress[slot].dropOldest(downTo: target)
            dropped += oldest.count
            if recorder.nameCounts.isCounting { recordDropped(oldest.frames) }
        }
        if dropped > 0 {
            statistics.dropped += dropped
            connections[slot].counters.dropped += dropped
            statistics.gaps += 1
        }
        chargeOutbox(slot)
    }

    // MARK: Back-pressure

    /// Makes the posts of a user wait if they reach more subscribers than the turns of the event loop can flush.
    @inline(__always)
    mutating func pace(_ slot: ConnectionSlot, subscribers: Int, bytes: Int) {
        guard egress.isBehind, subscribers > 0 else { return }
        egress.pacer.posted(
            by: connections[slot].uid, units: subscribers * (1 + bytes >> FlushBudget.bytesShift),
            flushed: egress.flushBudget.spent)
    }

    /// Pauses a connection that is about to post, if the output of its user's earlier posts is not flushed yet.
    ///
    /// - Returns: Whether the connection was paused.
    mutating func pauseIfOutputBehind(_ slot: ConnectionSlot) -> Bool {
        let uid = connections[slot].uid
        guard egress.pacer.mustWait(uid, flushed: egress.flushBudget.spent) else { return false }
        egress.pacer.wait(connections[slot].id, of: uid)
        pause(slot, .outputBehind)
        return true
    }

    private mutating func resumePacedPosters() {
        for id in egress.pacer.takeReady(flushed: egress.flushBudget.spent, isBehind: egress.isBehind)
        where connections.contains(id) {
            resume(id.slot, .outputBehind)
        }
    }

    /// Whether the next frame that needs an answer must wait until the peer has read earlier answers. Unread messages
    /// do not count: windows and credit limit stored messages, and volatile messages may be dropped.
    @inline(__always)
    func areAnswersUnread(_ slot: ConnectionSlot) -> Bool {
        let unread = egress[slot].unreadAnswerBytes
        return unread > minimumAnswerBytes && unread > answerLimit(of: slot)
    }

    /// Stops processing all frames of a peer that does not read the entries of a list.
    mutating func pauseIfAnswersUnread(_ slot: ConnectionSlot) {
        if areAnswersUnread(slot) { pause(slot, .answersUnread) }
    }

    /// Stops processing all frames of a peer that does not read the errors for frames that need no answer.
    mutating func pauseIfErrorsUnread(_ slot: ConnectionSlot) {
        let unread = egress[slot].unreadAnswerBytes
        if unread > 2 * minimumAnswerBytes, unread > 2 * answerLimit(of: slot) { pause(slot, .answersUnread) }
    }

    /// Resumes reading from a peer when its unread answers take at most half of the limit.
    private mutating func updateAnswerBackPressure(_ slot: ConnectionSlot) {
        guard connections[slot].pauses.contains(.answersUnread) else { return }
        if egress[slot].answerBytes <= answerLimit(of: slot) / 2 { resume(slot, .answersUnread) }
    }

    /// The bytes of answers that may always wait for a connection. They are also the limit while the user is under
    /// memory pressure (see `Ledger`).
    private var minimumAnswerBytes: Int { min(4 << 10, configuration.answerBytesPerConnection) }

    @inline(__always)
    private func answerLimit(of slot: ConnectionSlot) -> Int {
        ledger.isUnderMemoryPressure(connections[slot].uid)
            ? minimumAnswerBytes : configuration.answerBytesPerConnection
    }
}
