package import NIOCore
import NotifyWire

/// The end of a tick, and the output to sockets.
extension Broker {
    /// Ends a tick: readers continue, the next batch begins, and the spans of every touched connection become chunks
    /// that the host can take.
    package mutating func finishTick(now: BrokerTime) {
        turnEnded()
        durables.setTime(now)
        continueReaders(now: now)
        requestRedeliveries(now: now)
        requestTimeSearch(now: now)
        requestSummary(now: now)
        requestPurge(now: now)
        finishDrain()
        if egress.usesOpenBlock { egress.openBlockEnded(commits.sealOpenBlock()) }
        beginCommit(now: now)
        let counts = egress.seal()
        evictIfNeeded()
        statistics.delivered += counts.delivered
        statistics.redelivered += counts.redelivered
    }

    /// Takes the connections with something to flush, each once.
    package mutating func takeTouchedConnections() -> [ConnectionID] {
        Self.takeTouched(&egress, connections)
    }

    private static func takeTouched(_ egress: inout Egress, _ connections: Connections) -> [ConnectionID] {
        egress.takeTouched { connections.id(in: $0) }
    }

    /// Takes the next bytes for a connection. Taken bytes can't be dropped any more, so the host takes no more than the
    /// socket has room for.
    package mutating func nextOutput(for id: ConnectionID) -> ByteBuffer? {
        guard connections.contains(id) else { return nil }
        return egress[id.slot].next()
    }

    /// Charges the rest of a connection's output after the host has taken as much as the socket has room for. Applies
    /// the overflow policy if the connection exceeds its limit.
    ///
    /// - Parameter isBlocked: Whether some of the taken bytes wait for the socket.
    package mutating func settle(_ id: ConnectionID, isBlocked: Bool, now: BrokerTime) -> Settlement {
        guard connections.contains(id) else { return .open }
        let slot = id.slot
        if scheduler.hasQueuedConnections { scheduler.charge(FairScheduler.Cost.flush, to: connections[slot].uid) }
        egress[slot].settle(isBlocked: isBlocked, in: connections[slot].retainedBlocks)
        chargeOutbox(slot)
        if egress[slot].droppableBytes > 0 { limitOutbox(slot, now: now) }
        updateAnswerBackPressure(slot)
        if connections[slot].hasBlockedReaders, hasRoom(slot) {
            wakeReaders(of: slot)
            actions.append(.scheduleTick)
        }
        return connections[slot].session.isClosing && egress[slot].isEmpty ? .closed : .open
    }

    /// The result of `settle` for the host.
    package enum Settlement {
        case open
        /// The connection ends and its outbox is empty: close it once all taken bytes are sent.
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

    /// Applies the overflow policy to a connection over its limit, or over its share of the user's limit.
    private mutating func limitOutbox(_ slot: ConnectionSlot, now: BrokerTime) {
        let part = ledger.outboxLimitPerConnection(uid: connections[slot].uid) ?? .max
        let limit = min(configuration.outboxBytesPerConnection, part)
        guard egress[slot].droppableBytes > limit else { return }
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
                dropped = egress[slot].keepLatest()
            } else if egress[slot].droppableBytes <= 2 * limit {
                // Reductions are rate-limited. This outbox is checked again when it is flushed next.
                return
            }
        case .dropOldest:
            break
        }
        if egress[slot].droppableBytes > target {
            let oldest = egress[slot].dropOldest(downTo: target)
            dropped += oldest.count
            if nameCounts.isCounting { recordDropped(oldest.frames) }
        }
        if dropped > 0 {
            statistics.dropped += dropped
            connections[slot].counters.dropped += dropped
            statistics.gaps += 1
        }
        chargeOutbox(slot)
    }

    // MARK: Back-pressure

    /// Stops processing the requests of a peer that does not read its answers.
    @inline(__always)
    mutating func pauseIfAnswersUnread(_ slot: ConnectionSlot) {
        let unread = egress[slot].unreadBytes
        if unread > minimumAnswerBytes, unread > answerLimit(of: slot) { pause(slot, .answersUnread) }
    }

    /// Stops reading from a peer that does not read its answers. Resumes reading when the unread answers take at most
    /// half of the limit.
    private mutating func updateAnswerBackPressure(_ slot: ConnectionSlot) {
        let kept = egress[slot].reliableBytes
        if kept > minimumAnswerBytes, kept > answerLimit(of: slot) {
            pause(slot, .answersUnread)
        } else if connections[slot].pauses.contains(.answersUnread), kept <= answerLimit(of: slot) / 2 {
            resume(slot, .answersUnread)
        }
    }

    /// The bytes of answers that may always wait for a connection.
    private var minimumAnswerBytes: Int { min(4 << 10, configuration.answerBytesPerConnection) }

    @inline(__always)
    private func answerLimit(of slot: ConnectionSlot) -> Int {
        ledger.isUnderMemoryPressure(connections[slot].uid)
            ? minimumAnswerBytes : configuration.answerBytesPerConnection
    }
}
