package import NIOCore
import NotifyWire

extension Broker {
    /// Ends a tick: durable readers read on, what gathered goes to the store, and every touched connection's spans
    /// become bytes that can be taken.
    package mutating func finishTick(now: Moment) {
        readOn(now: now)
        finishDrain()
        let logFrames = isOpenBlockShared ? pending.cut() : ByteBuffer()
        isOpenBlockShared = false
        commitIfDue(now: now)
        let volatileFrames = volatileWriter.buffer.writerIndex > 0 ? volatileWriter.cut() : ByteBuffer()
        for slot in touchedConnections where connections.isUsed(Int(slot)) {
            let counts = outboxes[Int(slot)].seal { [sources] source in
                switch source {
                case Span.volatileMessages: volatileFrames
                case Span.logMessages: logFrames
                default: sources[Int(source - Span.firstComplete)]
                }
            }
            statistics.delivered += counts.volatile + counts.durable
        }
        sources.removeAll(keepingCapacity: true)
    }

    /// The connections with something to flush, each once. Taking them empties the list.
    package mutating func takeTouchedConnections() -> [ConnectionID] {
        var touched: [ConnectionID] = []
        touched.reserveCapacity(touchedConnections.count)
        for slot in touchedConnections {
            outboxes[Int(slot)].isTouched = false
            if connections.isUsed(Int(slot)) { touched.append(connections[Int(slot)].id) }
        }
        touchedConnections.removeAll(keepingCapacity: true)
        return touched
    }

    /// The next bytes for a connection. What was taken cannot be dropped any more, so no more is to be taken than the
    /// socket has room for.
    package mutating func nextOutput(for id: ConnectionID) -> ByteBuffer? {
        guard connections.contains(id) else { return nil }
        return outboxes[Int(id.slot)].next()
    }

    /// The shell has taken what the socket has room for: the rest is charged, and a connection that is too far behind
    /// meets its overflow policy.
    package mutating func settle(_ id: ConnectionID, now: Moment) {
        guard connections.contains(id) else { return }
        let slot = Int(id.slot)
        outboxes[slot].settle()
        chargeOutbox(slot)
        if outboxes[slot].droppableBytes > 0 { limitOutbox(slot, now: now) }
        holdBack(slot)
        if connections[slot].hasHeldReaders, outboxes[slot].keptBytes < configuration.durableOutboxBytes {
            connections[slot].hasHeldReaders = false
            for case .durable(let reader) in connections[slot].subscriptions.values {
                readersToRead.insert(reader)
            }
            actions.append(.continueSoon)
        }
    }

    /// The socket has room again.
    package mutating func connectionWritable(_ id: ConnectionID) {
        guard connections.contains(id) else { return }
        touch(Int(id.slot))
    }

    private mutating func chargeOutbox(_ slot: Int) {
        let change = outboxes[slot].waitingBytes - connections[slot].chargedOutboxBytes
        guard change != 0 else { return }
        connections[slot].chargedOutboxBytes += change
        accounts[connections[slot].peer.uid].outboxBytes += change
    }

    /// Applies the overflow policy to a connection over its limit, or whose user is over his.
    private mutating func limitOutbox(_ slot: Int, now: Moment) {
        let uid = connections[slot].peer.uid
        let userExcess = max(0, accounts[uid].outboxBytes - configuration.outboxBytesPerUser)
        let limit = min(
            configuration.outboxBytesPerConnection, max(0, outboxes[slot].droppableBytes - userExcess))
        guard outboxes[slot].droppableBytes > limit else { return }
        // A good part goes at once: what stays is gone through each time, which must not be for every message.
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
            dropped = outboxes[slot].keepLatest()
        case .dropOldest:
            break
        }
        if outboxes[slot].droppableBytes > target { dropped += outboxes[slot].dropOldest(downTo: target) }
        if dropped > 0 {
            statistics.dropped += dropped
            statistics.gaps += 1
        }
        chargeOutbox(slot)
    }

    /// Stops reading from a peer that does not read its answers, until it has.
    private mutating func holdBack(_ slot: Int) {
        if outboxes[slot].keptBytes > configuration.answerBytesPerConnection {
            pause(slot, .answersUnread)
        } else if !connections[slot].pauses.isEmpty,
            outboxes[slot].keptBytes <= configuration.answerBytesPerConnection / 2
        {
            resume(slot, .answersUnread)
        }
    }

    // MARK: Draining

    /// The daemon is asked to go: nothing that comes from now on is processed, what came is committed, and every
    /// client is told. The action `drained` follows.
    package mutating func drainRequested() {
        guard drain == .notBegun else { return }
        drain = .committing
        for slot in connections.slots {
            connections[slot].session.drainBegan()
            for case .durable(let reader) in connections[slot].subscriptions.values {
                detach(reader)
            }
            connections[slot].subscriptions = connections[slot].subscriptions.filter {
                if case .volatile = $0.value { true } else { false }
            }
        }
        for index in readerSlots.values where readers[index].state != .removing {
            markDirty(index)
        }
        pending.isWanted = true
    }

    private mutating func finishDrain() {
        guard drain == .committing, running == nil, !pending.isWanted else { return }
        drain = .done
        for slot in connections.slots where !connections[slot].session.isClosing {
            answer(slot, Closing(lastRequest: connections[slot].session.lastRequest))
        }
        actions.append(.drained)
    }

    /// The mark for a clean stop: no sequence from here on was ever used.
    package var nextSequence: UInt64 { sequencer.next }

    /// Whether a connection has nothing left to be taken.
    package func isFlushed(_ id: ConnectionID) -> Bool {
        !connections.contains(id) || outboxes[Int(id.slot)].isEmpty
    }
}
