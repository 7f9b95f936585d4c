package import NIOCore
import NotifyWire

/// The end of a tick, and what leaves for the sockets.
extension Broker {
    /// Ends a tick: readers read on, what gathered goes to the store, and every touched connection's spans become bytes
    /// that can be taken.
    package mutating func finishTick(now: BrokerTime) {
        readOn(now: now)
        finishDrain()
        let openBlock = egress.usesOpenBlock ? commits.cutOpenBlock() : ByteBuffer()
        beginCommit(now: now)
        let counts = egress.seal(openBlock: openBlock)
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

    /// The next bytes for a connection. What was taken cannot be dropped any more, so no more is to be taken than the
    /// socket has room for.
    package mutating func nextOutput(for id: ConnectionID) -> ByteBuffer? {
        guard connections.contains(id) else { return nil }
        return egress[id.slot].next()
    }

    /// The host has taken what the socket has room for: the rest is charged, and a connection that is too far behind
    /// meets its overflow policy.
    package mutating func settle(_ id: ConnectionID, now: BrokerTime) -> Settlement {
        guard connections.contains(id) else { return .open }
        let slot = id.slot
        egress[slot].settle()
        chargeOutbox(slot)
        if egress[slot].droppableBytes > 0 { limitOutbox(slot, now: now) }
        holdBack(slot)
        if connections[slot].hasHeldReaders, hasRoom(slot) {
            connections[slot].hasHeldReaders = false
            wakeReaders(of: slot)
            actions.append(.continueSoon)
        }
        return connections[slot].session.isClosing && egress[slot].isEmpty ? .closed : .open
    }

    /// What follows for a connection that was settled.
    package enum Settlement {
        case open
        /// Everything is taken of a connection that ends: it is to be closed once that is sent.
        case closed
    }

    /// The socket has room again.
    package mutating func connectionWritable(_ id: ConnectionID) {
        guard connections.contains(id) else { return }
        egress.touch(id.slot)
    }

    /// Whether a connection has nothing left to be taken.
    package func isFlushed(_ id: ConnectionID) -> Bool {
        !connections.contains(id) || egress[id.slot].isEmpty
    }

    // MARK: Limits

    private mutating func chargeOutbox(_ slot: ConnectionSlot) {
        let change = connections[slot].charge(outboxBytes: egress[slot].waitingBytes)
        guard change != 0 else { return }
        ledger.change(.outboxBytes, by: change, uid: connections[slot].uid)
    }

    /// Applies the overflow policy to a connection over its limit, or whose user is over the user's limit.
    private mutating func limitOutbox(_ slot: ConnectionSlot, now: BrokerTime) {
        let held = ledger.amount(of: .outboxBytes, uid: connections[slot].uid)
        let userExcess = max(0, held - ledger.limit(of: .outboxBytes))
        let limit = min(
            configuration.outboxBytesPerConnection, max(0, egress[slot].droppableBytes - userExcess))
        guard egress[slot].droppableBytes > limit else { return }
        // A good part is dropped at once: what stays is looked at each time, which must not be for every message.
        let target = limit - limit / 4
        var dropped: UInt64 = 0
        switch connections[slot].overflow {
        case .disconnect:
            let error = WireError(
                .tooSlow,
                "more than \(limit) bytes of messages waited for this connection, which asked to be closed then")
            fail(slot, error, detail: UInt64(limit), now: now)
            actions.append(.continueSoon)
            return
        case .keepLatest:
            dropped = egress[slot].keepLatest()
        case .dropOldest:
            break
        }
        if egress[slot].droppableBytes > target { dropped += egress[slot].dropOldest(downTo: target) }
        if dropped > 0 {
            statistics.dropped += dropped
            statistics.gaps += 1
        }
        chargeOutbox(slot)
    }

    /// Stops reading from a peer that does not read its answers, until it has.
    private mutating func holdBack(_ slot: ConnectionSlot) {
        let kept = egress[slot].keptBytes
        if kept > configuration.answerBytesPerConnection {
            pause(slot, .answersUnread)
        } else if !connections[slot].pauses.isEmpty, kept <= configuration.answerBytesPerConnection / 2 {
            resume(slot, .answersUnread)
        }
    }
}
