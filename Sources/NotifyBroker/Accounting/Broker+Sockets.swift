/// The kernel's memory for bytes that peers have not read.
extension Broker {
    /// Charges the connection's user for the bytes in the socket.
    mutating func chargeSocket(_ slot: ConnectionSlot, bytes: Int, now: BrokerTime) {
        guard egress.unreadSockets.charges(bytes) || connections[slot].socketBytes > 0 else { return }
        let charge = egress.unreadSockets.measured(bytes, in: slot, now: now.monotonic)
        ledger.change(.socketBytes, by: charge - connections[slot].socketBytes, uid: connections[slot].uid)
        connections[slot].socketBytes = charge
    }

    /// Ends the charge for the socket of a connection that is removed.
    mutating func releaseSocket(_ slot: ConnectionSlot) {
        guard connections[slot].socketBytes > 0 else { return }
        ledger.change(.socketBytes, by: -connections[slot].socketBytes, uid: connections[slot].uid)
        egress.unreadSockets.remove(slot)
    }

    /// Must be called before the host closes a connection whose peer has unread bytes (4 KiB and more). The host keeps
    /// a copy of the socket to see when the peer reads them. Until ``socketReleased(uid:bytes:)``, the user is charged
    /// for these bytes and for a connection.
    package mutating func socketLeft(uid: UInt32, bytes: Int) {
        connections.leftSockets += 1
        ledger.change(.connections, by: 1, uid: uid)
        ledger.change(.socketBytes, by: bytes, uid: uid)
    }

    /// Ends the charge of ``socketLeft(uid:bytes:)``. Must be called when fewer than 4 KiB are unread, or the peer has
    /// closed its end.
    package mutating func socketReleased(uid: UInt32, bytes: Int) {
        connections.leftSockets -= 1
        ledger.change(.connections, by: -1, uid: uid)
        ledger.change(.socketBytes, by: -bytes, uid: uid)
    }

    /// Whether more may be written to a connection: unread bytes in its socket must not grow beyond the user's share of
    /// the memory.
    @inline(__always)
    func mayWrite(_ slot: ConnectionSlot) -> Bool {
        connections[slot].socketBytes == 0 || ledger.room(of: connections[slot].uid) >= 0
    }

    /// Once per second, queues all connections with charged unread bytes for a flush, in which the host measures the
    /// socket. The budget for flushes spreads them over several turns.
    mutating func measureSockets(now: Duration) {
        for slot in egress.unreadSockets.takeDue(now: now) {
            if let id = connections.id(in: slot) { egress.queue(id, of: connections[slot].uid) }
        }
    }
}
